package indexprocess

import "github.com/rialto-im/rialto/internal/engine/searchindex"

// maxPart is about how many bytes of documents Apply sends at once.
const maxPart = 4 << 20

// nextPart removes the first part of a batch. last: it is all that was left.
func nextPart(rest *searchindex.Batch) (part searchindex.Batch, last bool) {
	size := 0
	for n := range rest.Put {
		if size += sizeOf(&rest.Put[n]); size > maxPart && n > 0 {
			part = searchindex.Batch{Delete: rest.Delete, Put: rest.Put[:n], Term: rest.Term}
			rest.Delete, rest.Put = nil, rest.Put[n:]
			return part, false
		}
	}
	return *rest, true
}

// sizeOf returns about how many bytes a document has in a frame.
func sizeOf(d *searchindex.Document) int {
	n := 64 + len(d.Text) + 8*len(d.Names)
	for _, list := range [][]string{d.Access, d.Labels, d.Words} {
		for _, s := range list {
			n += len(s) + 2
		}
	}
	return n
}
