# mine
like h200
name My card
cost h2d-gbps 25.5 # 64 MiB
kernel blur 6.364 3600 # mean of 120
kernel blur 9 7200
kernel _Z5thresPh 5.05
kernel work 1.5 1
