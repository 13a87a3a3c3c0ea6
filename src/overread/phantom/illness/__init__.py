"""What does the patient have, and what is told of it?"""
