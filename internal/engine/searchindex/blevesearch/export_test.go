package blevesearch

import (
	"context"
	"os"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// SetMaxWords sets how many words of a segment are examined for a term, before the words of the documents are.
func (i *Index) SetMaxWords(n int) { i.maxWords = n }

// PackWords, VisitWords, PackID and UnpackID are for tests of the forms of documents.
var (
	PackWords  = packWords
	VisitWords = visitWords
	PackID     = packID
	UnpackID   = unpackID
)

// Merge makes one segment of all.
func (i *Index) Merge(ctx context.Context) error { return i.engine.ForceMerge(ctx, nil) }

// SegmentBytes returns how large the files of the present segments are. The engine removes those of former ones a little later.
func (i *Index) SegmentBytes() (bytes int64) {
	reader, err := i.engine.Reader()
	if err != nil {
		panic(err)
	}
	defer reader.Close() //nolint:errcheck // it only counts references
	for _, part := range reader.(*scorch.IndexSnapshot).Segments() {
		if file, ok := part.Segment().(segment.PersistedSegment); ok {
			info, err := os.Stat(file.Path())
			if err != nil {
				panic(err)
			}
			bytes += info.Size()
		}
	}
	return bytes
}
