module github.com/blevesearch/zapx/v16

go 1.26.0

require github.com/blevesearch/zapx/v11 v11.4.3
