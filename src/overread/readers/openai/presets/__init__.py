"""How families of models want to be asked, a file each."""
