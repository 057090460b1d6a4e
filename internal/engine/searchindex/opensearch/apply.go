package opensearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/rialto-im/rialto/internal/engine/searchindex"
)

const (
	// bulkBytes and bulkItems bound a bulk request. One item may be larger: a text of searchindex.MaxText characters makes about 300 KB.
	bulkBytes = 2 << 20
	bulkItems = 5000
)

// Index is a generation, or the one that answers. It is a searchindex.Index.
type Index struct {
	cluster *Cluster
	name    string // of the index, or of the alias
	writes  string // the alias by which it is written; "": it is not

	apply  sync.Mutex   // held during Apply: batches are applied in their order
	use    sync.RWMutex // held to read while the index is used, and to write by Close
	closed bool
}

var (
	errClosed   = fmt.Errorf("opensearch: %w", searchindex.ErrClosed)
	errReadOnly = errors.New("opensearch: the index that answers is not written by its name")
)

// Close implements searchindex.Index.
func (i *Index) Close() error {
	i.use.Lock()
	defer i.use.Unlock()
	i.closed = true
	return nil
}

// Apply implements searchindex.Index.
func (i *Index) Apply(ctx context.Context, b *searchindex.Batch) error {
	i.apply.Lock()
	defer i.apply.Unlock()
	i.use.RLock()
	defer i.use.RUnlock()
	switch {
	case i.closed:
		return errClosed
	case i.writes == "":
		return errReadOnly
	case ctx.Err() != nil:
		return ctx.Err()
	}
	w := &bulk{index: i, term: b.Term}
	for _, id := range b.Delete {
		if err := w.add(ctx, "delete", documentID(id), nil); err != nil {
			return err
		}
	}
	for k := range b.Put {
		if err := w.add(ctx, "index", documentID(b.Put[k].ID), newDocument(&b.Put[k])); err != nil {
			return err
		}
	}
	if err := w.flush(ctx); err != nil {
		return err
	}
	if w.sent > 0 { // so that Search finds them
		if err := i.cluster.client.write(ctx, "POST", "/"+i.writes+"/_refresh?filter_path=_shards.failed", nil, &struct{}{}); err != nil {
			return err
		}
	}
	return w.checkpoints(ctx, b.Checkpoints)
}

// bulk is a batch in progress.
type bulk struct {
	index *Index
	term  uint64
	body  bytes.Buffer
	items int // in body
	sent  int
}

// action of an item.
type action struct {
	ID          string `json:"_id"`
	Version     uint64 `json:"version,omitempty"`
	VersionType string `json:"version_type,omitempty"`
}

// checkpoints stores positions, after all documents.
func (w *bulk) checkpoints(ctx context.Context, points map[string]uint64) error {
	for _, name := range slices.Sorted(maps.Keys(points)) {
		if err := w.add(ctx, "index", checkpointID(name), checkpoint{strconv.FormatUint(points[name], 10)}); err != nil {
			return err
		}
	}
	return w.flush(ctx)
}

// add adds an item, and sends what there is if that is enough for a request.
func (w *bulk) add(ctx context.Context, operation, id string, source any) error {
	a := action{ID: id}
	if w.term > 0 {
		a.Version, a.VersionType = w.term, "external_gte"
	}
	lines := json.NewEncoder(&w.body)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(map[string]action{operation: a}); err != nil {
		return err
	}
	if source != nil {
		if err := lines.Encode(source); err != nil {
			return err
		}
	}
	if w.items++; w.items == bulkItems || w.body.Len() >= bulkBytes {
		return w.flush(ctx)
	}
	return nil
}

// result of an item.
type result struct {
	Status int `json:"status"`
	Error  *struct {
		Type string `json:"type"`
	} `json:"error"`
}

// flush sends what there is.
func (w *bulk) flush(ctx context.Context) error {
	if w.items == 0 {
		return nil
	}
	var answer struct {
		Items []map[string]result `json:"items"`
	}
	path := "/" + w.index.writes + "/_bulk?require_alias=true&filter_path=items.*.status,items.*.error.type"
	if err := w.index.cluster.client.write(ctx, "POST", path, w.body.Bytes(), &answer); err != nil {
		return err
	}
	if len(answer.Items) != w.items {
		return fmt.Errorf("OpenSearch answered for %d of %d writes", len(answer.Items), w.items)
	}
	w.sent += w.items
	w.items = 0
	w.body.Reset()
	for _, item := range answer.Items {
		if len(item) != 1 {
			return errors.New("OpenSearch did not say what became of a write")
		}
		for _, r := range item {
			if err := r.failure(); err != nil {
				return err
			}
		}
	}
	return nil
}

// failure returns why an item was not written, nil if it was. What is not there need not be deleted.
func (r *result) failure() error {
	switch {
	case r.Error == nil && (r.Status < http.StatusMultipleChoices && r.Status > 0 || r.Status == http.StatusNotFound):
		return nil
	case r.Status == http.StatusConflict:
		return &searchindex.Superseded{}
	case r.Error == nil:
		return &failure{status: r.Status}
	case r.Status == http.StatusTooManyRequests, r.Status >= http.StatusInternalServerError:
		return unavailable(&failure{r.Status, r.Error.Type})
	}
	return missing(&failure{r.Status, r.Error.Type})
}

// Checkpoints implements searchindex.Index.
func (i *Index) Checkpoints(ctx context.Context, names []string) ([]uint64, error) {
	i.use.RLock()
	defer i.use.RUnlock()
	if i.closed {
		return nil, errClosed
	}
	at := make([]uint64, len(names))
	if len(names) == 0 {
		return at, nil
	}
	ids := make([]string, len(names))
	for k, name := range names {
		ids[k] = checkpointID(name)
	}
	body, err := json.Marshal(object{"ids": ids})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Docs []struct {
			Found  *bool      `json:"found"`
			Source checkpoint `json:"_source"`
			Error  struct {
				Type string `json:"type"`
			} `json:"error"`
		} `json:"docs"`
	}
	// Reads by id see what was written, before a refresh as well.
	if err := i.cluster.client.read(ctx, "POST", "/"+i.name+"/_mget?realtime=true&filter_path=docs.found,docs._source,docs.error.type", body, &answer); err != nil {
		return nil, err
	}
	if len(answer.Docs) != len(names) {
		return nil, fmt.Errorf("OpenSearch answered for %d of %d checkpoints", len(answer.Docs), len(names))
	}
	for k, d := range answer.Docs {
		switch {
		case d.Found == nil:
			return nil, missing(&failure{http.StatusNotFound, d.Error.Type})
		case *d.Found:
			if at[k], err = strconv.ParseUint(d.Source.Value, 10, 64); err != nil {
				return nil, fmt.Errorf("the checkpoint %q is not a number", names[k])
			}
		}
	}
	return at, nil
}
