package outputlimit

const (
	// maxExamined bounds the rows that one page costs.
	maxExamined = 500
	// readExtra is how many more rows are read than a page lacks, in case some are not for the reader.
	readExtra = 5
	// maxPageBytes end a page, so that its answer, which has more than its entries, is far below MaxPage.
	maxPageBytes = 128 << 10
)

// Row is a row that was read for a page.
type Row[Place, Entry any] struct {
	Place Place  // of the row; the rows behind it follow
	Entry *Entry // what the reader sees of it; nil: nothing
	Bytes int    // of the entry, in an answer
}

// FillPage reads rows of a list until a page has limit entries, or 128 KiB of them. It returns the entries, and behind which row the next page begins; nil: that was
// the end of the list. A page has at least one entry, unless 500 rows have none that the reader may see: then it is short or empty, and has a next one.
//
// read returns the n rows behind a place, and fewer only at the end of the list.
func FillPage[Place, Entry any](limit int, behind Place, read func(behind Place, n int) ([]Row[Place, Entry], error)) (entries []*Entry, next *Place, err error) {
	size := 0
	for examined := 0; examined < maxExamined; {
		n := limit - len(entries) + readExtra
		rows, err := read(behind, n)
		if err != nil {
			return nil, nil, err
		}
		for i, r := range rows {
			if r.Entry != nil {
				if size += r.Bytes; len(entries) > 0 && size > maxPageBytes {
					return entries, &behind, nil
				}
				entries = append(entries, r.Entry)
			}
			if behind = r.Place; len(entries) == limit && (i < len(rows)-1 || len(rows) == n) {
				return entries, &behind, nil
			}
		}
		if len(rows) < n {
			return entries, nil, nil
		}
		examined += len(rows)
	}
	return entries, &behind, nil
}
