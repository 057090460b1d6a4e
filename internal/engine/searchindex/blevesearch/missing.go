package blevesearch

import (
	"context"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/indexsegment"
)

// Missing implements searchindex.Index. Documents are found by their ids. Each term of theirs is then read once in a segment, and nothing of other documents is.
func (i *Index) Missing(ctx context.Context, list []searchindex.Document) (missing []searchindex.ID, err error) {
	ids, places := make([]string, len(list)), make(map[string]int, len(list))
	for n := range list {
		ids[n] = packID(list[n].ID)
		places[ids[n]] = n
	}
	found := make([]bool, len(list))
	err = i.eachSegment(ctx, func(of *scorch.SegmentSnapshot, part *indexsegment.Segment) error {
		numbers, err := of.DocNumbers(ids)
		if err != nil {
			return err
		}
		s := &storedDocuments{part: part, sets: map[string]*roaring.Bitmap{}}
		for documents := numbers.Iterator(); documents.HasNext(); {
			number := documents.Next()
			id, err := part.DocID(uint64(number))
			if err != nil {
				return err
			}
			if n, ok := places[string(id)]; ok {
				if found[n], err = s.has(ctx, number, &list[n]); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for n := range list {
		if !found[places[ids[n]]] {
			missing = append(missing, list[n].ID)
		}
	}
	return missing, nil
}

// storedDocuments are those of a segment that are compared.
type storedDocuments struct {
	part *indexsegment.Segment
	sets map[string]*roaring.Bitmap // documents by field and term
}

// has reports whether a document of the segment is found as it should be.
func (s *storedDocuments) has(ctx context.Context, number uint32, d *searchindex.Document) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	stored := newDocument(d)
	for _, f := range stored.fields {
		var words []string
		switch f.name {
		case textField, denseField:
			words = f.text.of(f.dense)
			words = words[:min(len(words), searchindex.MaxTerms)]
		case filterField:
			words = foundBy(d)
		default:
			continue
		}
		for _, w := range words {
			set, err := s.documents(f.name, w)
			if err != nil || !set.Contains(number) {
				return false, err
			}
		}
	}
	value, err := s.part.Value(valueField, uint64(number))
	if err != nil || len(value) != valueLen {
		return false, err
	}
	seconds, _ := decodeValue(value)
	return seconds == searchindex.Seconds(d.TimeMs), nil
}

// foundBy returns the filter terms by which a document must be found. Its link and labels may be of an earlier build.
func foundBy(d *searchindex.Document) (terms []string) {
	kinds := d.Kinds
	if len(kinds) == 0 {
		kinds = []searchindex.Kind{d.ID.Kind}
	}
	for _, kind := range kinds {
		terms = appendFilters(terms, &searchindex.Document{Access: d.Access, Author: d.Author}, kind)
	}
	return terms
}

// documents returns the documents of the segment with a term. The set must not be changed.
func (s *storedDocuments) documents(field, term string) (*roaring.Bitmap, error) {
	key := field + term
	if set := s.sets[key]; set != nil {
		return set, nil
	}
	set := roaring.New()
	if err := s.part.Terms(field).AddDocuments(set, []byte(term)); err != nil {
		return nil, err
	}
	s.sets[key] = set
	return set, nil
}
