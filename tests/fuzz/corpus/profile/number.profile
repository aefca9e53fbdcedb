attribute 999 1
