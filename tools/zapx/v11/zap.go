// Package zap stands in for the old segment formats of Bleve, zapx v11 to v16. Bleve links them all, to read indexes of earlier releases of Bleve. Our
// indexes have always been of v17 (docs/decisions/0143-smaller-binary.md).
package zap

import (
	"errors"

	"github.com/RoaringBitmap/roaring/v2"
	index "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

var errNone = errors.New("zapx: this format is not linked into the program")

// ZapPlugin is a format that no index has.
type ZapPlugin struct{}

// Type of the format.
func (*ZapPlugin) Type() string { return "none" }

// Version of the format.
func (*ZapPlugin) Version() uint32 { return 0 }

// New fails.
func (*ZapPlugin) New([]index.Document) (segment.Segment, uint64, error) { return nil, 0, errNone }

// NewUsing fails.
func (*ZapPlugin) NewUsing([]index.Document, map[string]any) (segment.Segment, uint64, error) {
	return nil, 0, errNone
}

// Open fails.
func (*ZapPlugin) Open(string) (segment.Segment, error) { return nil, errNone }

// OpenUsing fails.
func (*ZapPlugin) OpenUsing(string, map[string]any) (segment.Segment, error) { return nil, errNone }

// Merge fails.
func (*ZapPlugin) Merge([]segment.Segment, []*roaring.Bitmap, string, chan struct{}, segment.StatsReporter) ([][]uint64, uint64, error) {
	return nil, 0, errNone
}

// MergeUsing fails.
func (*ZapPlugin) MergeUsing([]segment.Segment, []*roaring.Bitmap, string, chan struct{}, segment.StatsReporter, map[string]any) ([][]uint64, uint64, error) {
	return nil, 0, errNone
}
