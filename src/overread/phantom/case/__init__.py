"""How does an illness become the days, pictures and words of a case?"""
