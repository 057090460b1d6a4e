package opensearch

import (
	"encoding/binary"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

// Fields of a document.
const (
	wordField       = "t"
	filterField     = "f"
	kindField       = "k" // of its id, as the two that follow
	parentField     = "p"
	numberField     = "n"
	secondsField    = "s"
	popularityField = "g" // searchindex.Quarters
	checkpointField = "c" // of a checkpoint
)

// format of the index. An index of another format is refused (ErrForeign) and stays as it is.
const format = 1

// object is one of JSON.
type object = map[string]any

// owner is in the metadata of each index: whose it is.
type owner struct {
	Deployment string `json:"deployment"`
	Format     int    `json:"format"`
}

// deletionsRemembered is how long an index keeps the version of a document that was deleted. An earlier writer's write that arrives within this time does not bring the
// document back; OpenSearch's default of a minute is less than a paused process or a slow network may delay one.
const deletionsRemembered = "1h"

// definition of a generation. Nothing is analysed, and nothing that is not named here is accepted. Of the source of documents only checkpoints are kept.
func (c *Cluster) definition(n uint64, serving bool) object {
	keyword := object{"type": "keyword", "doc_values": false}
	number := func(kind string) object { return object{"type": kind, "index": false} }
	aliases := object{c.writeAlias(n): object{}}
	if serving {
		aliases[c.config.Name] = object{}
	}
	return object{
		"aliases": aliases,
		// A document is on the disks of all copies of its shard when it is acknowledged.
		"settings": object{"index": object{
			"number_of_shards": c.config.Shards, "number_of_replicas": c.config.Replicas, "translog": object{"durability": "request"}, "gc_deletes": deletionsRemembered,
		}},
		"mappings": object{
			"dynamic": "strict",
			"_meta":   object{"rialto": owner{c.config.Deployment, format}},
			"_source": object{"includes": []string{checkpointField}},
			"properties": object{
				wordField: keyword, filterField: keyword,
				kindField: number("short"), parentField: number("long"), numberField: number("long"), popularityField: number("short"),
				secondsField:    object{"type": "long"}, // times are filtered by
				checkpointField: object{"type": "keyword", "index": false, "doc_values": false},
			},
		},
	}
}

// document is the JSON of a document, or of a checkpoint.
type document struct {
	Words      []string `json:"t,omitempty"`
	Filters    []string `json:"f,omitempty"`
	Kind       byte     `json:"k"`
	Parent     int64    `json:"p"`
	Number     int64    `json:"n"`
	Seconds    int64    `json:"s"`
	Popularity byte     `json:"g"`
}

type checkpoint struct {
	Value string `json:"c"`
}

// OpenSearch has no number of 64 bits without a sign that all its versions compare. signed and unsigned keep the order.
func signed(n uint64) int64   { return int64(n ^ 1<<63) }
func unsigned(n int64) uint64 { return uint64(n) ^ 1<<63 }

func documentID(id searchindex.ID) string { return text(id.Append(nil)) }

// checkpointID has a sign that no id of a document has.
func checkpointID(name string) string { return "." + text([]byte(name)) }

// Filter terms begin with the kind of the document, and what they are.
func filterTerm(kind searchindex.Kind, of byte, value string) string {
	return text(append([]byte{byte(kind), of}, value...))
}

func accessTerm(kind searchindex.Kind, access string) string { return filterTerm(kind, 'a', access) }

func authorTerm(kind searchindex.Kind, author uint64) string {
	return filterTerm(kind, 'u', string(binary.BigEndian.AppendUint64(nil, author)))
}

func linkTerm(kind searchindex.Kind) string { return filterTerm(kind, 'l', "") }

func labelTerm(kind searchindex.Kind, label string) string { return filterTerm(kind, 't', label) }

func newDocument(d *searchindex.Document) document {
	kinds := d.Kinds
	if len(kinds) == 0 {
		kinds = []searchindex.Kind{d.ID.Kind}
	}
	out := document{Words: searchindex.WordsOf(d), Kind: byte(d.ID.Kind), Parent: signed(d.ID.Parent), Number: signed(d.ID.Number),
		Seconds: searchindex.Seconds(d.TimeMs), Popularity: searchindex.Quarters(d.Popularity)}
	for _, kind := range kinds {
		for _, a := range d.Access {
			out.Filters = append(out.Filters, accessTerm(kind, a))
		}
		if d.Author != 0 {
			out.Filters = append(out.Filters, authorTerm(kind, d.Author))
		}
		if d.Link {
			out.Filters = append(out.Filters, linkTerm(kind))
		}
		for _, l := range d.Labels {
			out.Filters = append(out.Filters, labelTerm(kind, l))
		}
	}
	return out
}
