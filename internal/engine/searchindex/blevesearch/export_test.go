package blevesearch

// SetMaxWords sets how many words of a segment are examined for a term, before the words of the documents are.
func (i *Index) SetMaxWords(n int) { i.maxWords = n }
