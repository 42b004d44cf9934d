module peer

go 1.18
