// Package blevesearch is a search index in a directory. It uses Bleve's engine (scorch), with a segment format of its own (package indexsegment). A search combines sets of documents in each segment, without the
// statistics that Bleve's scores need.
//
// A document has five fields: its words (t), those of runs without spaces (d), filter terms (f), a value for the score (v), and its words once more, packed (w, words.go). Positions and texts are not stored: the caller
// has the text. A checkpoint is a document as well. So one batch commits it with the documents that it covers.
//
// The dictionary of a segment has the words of all users. A prefix or a typo may match very many of them. Then a search examines the words of the documents that the filters admit, with the same result. So nobody can crowd words
// out of other users' searches, and no result reveals whether somebody wrote a word. The duration of a search may reveal it. In runs without spaces, a term matches at most as many words as there are characters.
//
// Apply returns when the batch is synced.
package blevesearch

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
	"github.com/blevesearch/vellum/levenshtein"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/indexsegment"
)

// Index is a searchindex.Index.
type Index struct {
	logger *slog.Logger
	engine *scorch.Scorch
	queue  *index.AnalysisQueue
	typos  *levenshtein.LevenshteinAutomatonBuilder
	// maxWords is the constant of this name, except in tests.
	maxWords int

	apply  sync.Mutex   // held during Apply: batches are applied in their order
	use    sync.RWMutex // held to read while the engine is used, and to write by Close
	closed bool
}

// format is in a file of the directory. An index of another format is rebuilt.
const (
	format     = "rialto search 5\n"
	formatFile = "FORMAT"
)

// Open opens the index in a directory, or makes an empty one. It fails with searchindex.ErrCorrupt if the directory has something else, or a damaged
// index: remove it then.
func Open(dir string, logger *slog.Logger) (_ *Index, err error) {
	fresh, err := checkFormat(dir)
	if err != nil {
		return nil, err
	}
	typos, err := levenshtein.NewLevenshteinAutomatonBuilder(1, true)
	if err != nil {
		return nil, err
	}
	i := &Index{logger: logger, queue: index.NewAnalysisQueue(min(4, runtime.GOMAXPROCS(0))), typos: typos, maxWords: maxWords}
	opened, err := open(dir, i.queue)
	if err != nil {
		i.queue.Close()
		return nil, fmt.Errorf("%w: %s: %w", searchindex.ErrCorrupt, dir, err)
	}
	i.engine = opened
	if fresh {
		err = i.begin(dir)
	} else {
		err = i.checkBegun(dir)
	}
	if err != nil {
		return nil, errors.Join(err, i.Close())
	}
	return i, nil
}

// begunPoint is a checkpoint that each index has from its beginning. The engine opens an index as empty if it cannot read its files: then it is missing.
const begunPoint = "\x00begun"

// begin marks a new index. The file of the format comes last: an index without it is not complete.
func (i *Index) begin(dir string) error {
	if err := i.Apply(context.Background(), &searchindex.Batch{Checkpoints: map[string]uint64{begunPoint: 1}}); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, formatFile), []byte(format), 0o600)
}

func (i *Index) checkBegun(dir string) error {
	at, err := i.Checkpoints(context.Background(), []string{begunPoint})
	if err == nil && at[0] != 1 {
		err = fmt.Errorf("%w: files are missing in %s, or cannot be read", searchindex.ErrCorrupt, dir)
	}
	return err
}

// register registers the segment format with the engine, which has one registry for the process.
var register = sync.OnceFunc(func() { scorch.RegisterSegmentPlugin(indexsegment.Plugin{}, false) })

// refusal keeps why the first file was not opened, since the engine does not say so.
type refusal struct {
	mutex sync.Mutex // guards err: the engine also opens files beside the one that opens it
	err   error
}

func (r *refusal) set(err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.err == nil {
		r.err = err
	}
}

func (r *refusal) get() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.err
}

// open opens the engine. It fails if a file was refused: the engine would go on with an earlier state, or an empty index.
func open(dir string, queue *index.AnalysisQueue) (engine *scorch.Scorch, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the engine panicked: %v", p)
		}
	}()
	register()
	var refusal refusal
	opened, err := scorch.NewScorch(scorch.Name, map[string]any{"path": dir, "bolt_timeout": "5s", "numSnapshotsToKeep": 1, "forceSegmentType": indexsegment.Type, "forceSegmentVersion": indexsegment.Version,
		"segmentConfig": map[string]any{indexsegment.ErrorHook: refusal.set}}, queue)
	if err != nil {
		return nil, err
	}
	if err := opened.Open(); err != nil {
		return nil, err
	}
	if err := refusal.get(); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return opened.(*scorch.Scorch), nil
}

// checkFormat checks what the directory has. fresh: nothing.
func checkFormat(dir string) (fresh bool, err error) {
	found, err := os.ReadFile(filepath.Join(dir, formatFile))
	switch {
	case err == nil && string(found) == format:
		return false, nil
	case err == nil:
		return false, fmt.Errorf("%w: %s", searchindex.ErrFormat, dir)
	case !errors.Is(err, os.ErrNotExist):
		return false, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	if len(entries) > 0 {
		return false, fmt.Errorf("%w: %s has no file %s", searchindex.ErrCorrupt, dir, formatFile)
	}
	return true, os.MkdirAll(dir, 0o700)
}

var errClosed = fmt.Errorf("blevesearch: %w", searchindex.ErrClosed)

// Close implements searchindex.Index.
func (i *Index) Close() error {
	i.use.Lock()
	defer i.use.Unlock()
	if i.closed {
		return nil
	}
	i.closed = true
	err := i.engine.Close()
	i.queue.Close()
	return err
}

// Apply implements searchindex.Index.
func (i *Index) Apply(ctx context.Context, b *searchindex.Batch) (err error) {
	i.apply.Lock()
	defer i.apply.Unlock()
	i.use.RLock()
	defer i.use.RUnlock()
	if i.closed {
		return errClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	defer recovered(&err)
	batch := index.NewBatch()
	for _, id := range b.Delete {
		batch.Delete(packID(id))
	}
	for k := range b.Put {
		batch.Update(newDocument(&b.Put[k]))
	}
	for name, at := range b.Checkpoints {
		batch.Update(newCheckpoint(name, at))
	}
	if len(batch.IndexOps) == 0 {
		return nil
	}
	return i.engine.Batch(batch)
}

// recovered makes an error of a panic of the engine, whose files are damaged.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: the engine panicked: %v", searchindex.ErrCorrupt, p)
	}
}

// Checkpoints implements searchindex.Index.
func (i *Index) Checkpoints(ctx context.Context, names []string) ([]uint64, error) {
	at := make([]uint64, len(names))
	err := i.eachSegment(ctx, func(of *scorch.SegmentSnapshot, part *indexsegment.Segment) error {
		return readCheckpoints(of, part, names, at)
	})
	if err != nil {
		return nil, err
	}
	return at, nil
}

// eachSegment visits the segments of the index as of one moment, the newest first, until a visit fails or ctx ends.
func (i *Index) eachSegment(ctx context.Context, visit func(of *scorch.SegmentSnapshot, part *indexsegment.Segment) error) (err error) {
	i.use.RLock()
	defer i.use.RUnlock()
	if i.closed {
		return errClosed
	}
	defer recovered(&err)
	reader, err := i.engine.Reader()
	if err != nil {
		return err
	}
	defer reader.Close() //nolint:errcheck // it only counts references
	for _, of := range slices.Backward(reader.(*scorch.IndexSnapshot).Segments()) {
		if err := ctx.Err(); err != nil {
			return err
		}
		part, err := indexsegment.Of(of.Segment())
		if err != nil {
			return err
		}
		if err := visit(of, part); err != nil {
			return err
		}
	}
	return nil
}

// readCheckpoints sets the checkpoints that a segment has.
func readCheckpoints(of *scorch.SegmentSnapshot, part *indexsegment.Segment, names []string, at []uint64) error {
	for k, name := range names {
		numbers, err := of.DocNumbers([]string{checkpointID(name)})
		if err != nil {
			return err
		}
		for _, n := range numbers.ToArray() {
			value, err := part.Stored(checkpointField, uint64(n))
			if err != nil {
				return err
			}
			if len(value) == 8 {
				at[k] = binary.BigEndian.Uint64(value)
			}
		}
	}
	return nil
}
