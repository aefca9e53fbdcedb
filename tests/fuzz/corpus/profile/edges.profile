like t4
name x
attribute 16 0
attribute 39 0
attribute 106 0
cost pageable-mid-h2d-gbps 7
kernel a 0.0000001 9999999999999
kernel a 999999999 1
