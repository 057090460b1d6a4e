package pebblelog

// Meta describes a log and its data directory, as the log stores it.
type Meta struct {
	// ID of the data directory; empty in a log of an earlier release.
	ID string
	// Epoch of the last start.
	Epoch uint32
	// DatabaseCommits is the last stored number of durable transactions of the SQL database.
	DatabaseCommits uint64
}

// meta reads the stored Meta.
func (l *Log) meta() (Meta, error) {
	id, _, err := l.get(nil, []byte("mid"))
	if err != nil {
		return Meta{}, err
	}
	records, err := l.getUvarint([]byte("mrecords"))
	return Meta{ID: string(id), Epoch: l.epoch, DatabaseCommits: records}, err
}

// Meta of the log; Epoch is that of this start.
func (l *Log) Meta() (Meta, error) { return l.meta() }

// Epoch of the derived timelines.
func (l *Log) Epoch() uint32 { return l.epoch }

// RestoredEpoch of the derived timelines.
func (l *Log) RestoredEpoch() uint32 { return l.restored }
