package move

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// part is a unit whose rows are moved in order: a table, a range of the timelines' rows, or the files.
type part struct {
	name  string
	stage int // it starts when the previous stage is complete
	total uint64
	state partState
	run   func(ctx context.Context, p *part) error
}

// parts returns the parts of the move and their states.
func (m *mover) parts(ctx context.Context) (parts []*part, err error) {
	m.Say("counting rows to move …")
	if parts, err = m.timelineParts(ctx, "timelines/"); err != nil {
		return nil, err
	}
	for _, t := range m.source.tables {
		one := &part{name: "records/" + t.name, run: m.moveTable(t)}
		if err := m.source.db.QueryRowContext(ctx, `SELECT count(*) FROM `+quoted([]string{t.name})).Scan(&one.total); err != nil {
			return nil, err
		}
		parts = append(parts, one)
	}
	list, err := listFiles(m.Data)
	if err != nil {
		return nil, err
	}
	if m.target.files.store != nil {
		parts = append(parts, &part{name: "files", total: uint64(len(list)), run: m.moveFiles(list)})
	}
	return parts, m.readStates(ctx, parts)
}

// timelineParts returns the parts with the rows of timelines, without their states.
func (m *mover) timelineParts(ctx context.Context, prefix string) (parts []*part, err error) {
	for _, name := range rowRanges {
		stage := 2 // Cassandra stores the metadata of entries next to them, so entries come first
		switch name {
		case "conversations", "inboxes":
			stage = 0
		case "tails":
			stage = 1
		}
		one := &part{name: prefix + name, stage: stage, run: m.moveTimelines(name)}
		if one.total, err = m.source.log.Count(ctx, name); err != nil {
			return nil, err
		}
		parts = append(parts, one)
	}
	return parts, nil
}

// readStates reads the states of parts.
func (m *mover) readStates(ctx context.Context, parts []*part) (err error) {
	for _, p := range parts {
		if p.state, err = m.target.part(ctx, p.name); err != nil {
			return err
		}
	}
	return nil
}

// batch collects a part's rows, and stores them when it is full.
type batch[T any] struct {
	mover *mover
	part  *part
	store func(ctx context.Context, tx pgx.Tx, rows []T) error

	rows  []T
	size  int
	place []byte
	moved uint64
}

func (m *mover) batch(p *part, store func(ctx context.Context, tx pgx.Tx, rows [][]any) error) *batch[[]any] {
	return &batch[[]any]{mover: m, part: p, store: store}
}

// add adds one row of the source, at a position. It may be several rows of the target.
func (b *batch[T]) add(ctx context.Context, place []byte, size int, rows ...T) error {
	b.put(place, size, rows...)
	if !b.full() {
		return nil
	}
	return b.flush(ctx, false)
}

func (b *batch[T]) put(place []byte, size int, rows ...T) {
	b.rows, b.size, b.moved = append(b.rows, rows...), b.size+size, b.moved+1
	b.place = append(b.place[:0], place...)
}

func (b *batch[T]) full() bool { return len(b.rows) >= b.mover.Batch || b.size >= batchBytes }

func (b *batch[T]) end(ctx context.Context) error { return b.flush(ctx, true) }

func (b *batch[T]) flush(ctx context.Context, last bool) error {
	next := partState{place: b.part.state.place, rows: b.part.state.rows + b.moved, done: last}
	if b.moved > 0 {
		next.place = b.place
	}
	err := b.mover.target.store(ctx, b.part.name, &b.part.state, next, func(tx pgx.Tx) error {
		if len(b.rows) == 0 {
			return nil
		}
		return b.store(ctx, tx, b.rows)
	})
	if err != nil {
		return err
	}
	b.mover.count.done.Add(b.moved)
	clear(b.rows)
	b.rows, b.size, b.moved = b.rows[:0], 0, 0
	return nil
}

// moveTimelines moves a range of rows from the stored position.
func (m *mover) moveTimelines(name string) func(ctx context.Context, one *part) error {
	return func(ctx context.Context, one *part) error {
		b := &batch[timeline.Row]{mover: m, part: one, store: m.target.sink.store}
		wholeInboxes := m.Cassandra != nil && name == "inboxes" // each inbox must be in one batch
		err := m.source.log.Export(ctx, name, one.state.place, func(place []byte, rows []timeline.Row) error {
			size := 0
			for _, r := range rows {
				size += len(r.Entry.Payload) + 64*len(r.Record.Refs)
			}
			if !wholeInboxes {
				return b.add(ctx, place, size, rows...)
			}
			if b.full() && b.rows[len(b.rows)-1].Key != rows[0].Key {
				if err := b.flush(ctx, false); err != nil {
					return err
				}
			}
			b.put(place, size, rows...)
			return nil
		})
		if err != nil {
			return err
		}
		return b.end(ctx)
	}
}
