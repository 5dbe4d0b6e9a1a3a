module reqload

go 1.19
