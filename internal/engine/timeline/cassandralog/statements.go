package cassandralog

// Parts of a segment's rows: 0 are entries, at their seq; 1 are tokens, at seq 0, with their bytes; 2 are authors, with the author's
// number as seq. For tokens and authors, prev is the entry's seq.

// If only some replicas have a row, a read at QUORUM writes it to the others, but only with the selected columns. So a reader of other
// columns must recognize an incomplete row (a null in a column that is always set), or all reads of a table must select the same columns.

const (
	inSegment = ` WHERE store = ? AND kind = ? AND id = ? AND segment = ?`

	insertMeta = `INSERT INTO meta (store, format, epoch) VALUES (?, ?, ?) IF NOT EXISTS`
	selectMeta = `SELECT format, epoch FROM meta WHERE store = ?`
	// Of all stores.
	selectStores = `SELECT store FROM meta`

	selectState = `SELECT DISTINCT version, first, tail, counting, acl, head, size, voids, term, sealed FROM segments` + inSegment
	beginState  = `UPDATE segments SET version = ?, first = ?, tail = ?, counting = ?, acl = ?, head = ?, size = ?, voids = ?, term = ?, sealed = ?` + inSegment + ` IF version = null`
	moveState   = `UPDATE segments SET version = ?, first = ?, tail = ?, counting = ?, acl = ?, head = ?, size = ?, voids = ?, term = ?, sealed = ?` + inSegment + ` IF version = ?`

	insertEntry  = `INSERT INTO segments (store, kind, id, segment, part, seq, tok, counted, prev, stamp, payload) VALUES (?, ?, ?, ?, 0, ?, 0x, ?, ?, ?, ?)`
	insertToken  = `INSERT INTO segments (store, kind, id, segment, part, seq, tok, prev) VALUES (?, ?, ?, ?, 1, 0, ?, ?) IF NOT EXISTS`
	insertAuthor = `INSERT INTO segments (store, kind, id, segment, part, seq, tok, prev, counted) VALUES (?, ?, ?, ?, 2, ?, 0x, ?, ?)`
	// The entry exists: the batch is conditional on the state of its segment.
	replacePayload = `UPDATE segments SET payload = ?` + inSegment + ` AND part = 0 AND seq = ? AND tok = 0x`
	deleteRange    = `DELETE FROM segments` + inSegment + ` AND (part, seq, tok) >= (0, ?, 0x) AND (part, seq, tok) < (0, ?, 0x)`

	selectStamps  = `SELECT seq, stamp FROM segments` + inSegment + ` AND part = 0 AND seq > ?`
	selectStamp   = `SELECT stamp FROM segments` + inSegment + ` AND part = 0 AND seq = ? AND tok = 0x`
	selectEntries = `SELECT seq, counted, prev, payload FROM segments` + inSegment + ` AND part = 0 AND seq >= ? AND seq <= ? LIMIT ?`
	selectBack    = `SELECT seq, counted, prev, payload FROM segments` + inSegment + ` AND part = 0 AND seq >= ? AND seq <= ? ORDER BY part DESC, seq DESC LIMIT ?`
	selectToken   = `SELECT prev FROM segments` + inSegment + ` AND part = 1 AND seq = 0 AND tok = ?`
	selectTokens  = `SELECT tok, prev FROM segments` + inSegment + ` AND part = 1 AND seq = 0`
	selectAuthor  = `SELECT prev, counted FROM segments` + inSegment + ` AND part = 2 AND seq = ?`
	selectAuthors = `SELECT seq, prev, counted FROM segments` + inSegment + ` AND part = 2`

	insertRoot  = `INSERT INTO roots (store, kind, id, segment, first) VALUES (?, ?, ?, ?, ?)`
	selectRoots = `SELECT segment, first FROM roots WHERE store = ? AND kind = ? AND id = ?`

	// The greatest value wins, because a cell's write time is its value.
	insertPastCounter = `UPDATE past_counters USING TIMESTAMP ? SET counter = ? WHERE store = ? AND id = ? AND sender = ? AND device = ?`
	insertPastAuthor  = `UPDATE past_authors USING TIMESTAMP ? SET seq = ?, counted = ? WHERE store = ? AND id = ? AND author = ?`
	insertDevice      = `UPDATE devices USING TIMESTAMP ? SET counter = ? WHERE store = ? AND sender = ? AND device = ?`
	selectPastCounter = `SELECT counter FROM past_counters WHERE store = ? AND id = ? AND sender = ? AND device = ?`
	selectPastAuthor  = `SELECT seq, counted FROM past_authors WHERE store = ? AND id = ? AND author = ?`
	selectPastAuthors = `SELECT author, seq, counted FROM past_authors WHERE store = ? AND id = ?`
	selectDevice      = `SELECT counter FROM devices WHERE store = ? AND sender = ? AND device = ?`

	insertKnown = `INSERT INTO known (store, kind, bucket, id) VALUES (?, ?, ?, ?)`
	selectKnown = `SELECT id FROM known WHERE store = ? AND kind = ? AND bucket = ? AND id > ? LIMIT ?`

	inBucket         = ` WHERE store = ? AND part = ? AND bucket = ?`
	selectRecordTail = `SELECT DISTINCT tail FROM records` + inBucket
	beginRecordTail  = `UPDATE records SET tail = ?` + inBucket + ` IF tail = null`
	moveRecordTail   = `UPDATE records SET tail = ?` + inBucket + ` IF tail = ?`
	insertRecord     = `INSERT INTO records (store, part, bucket, seq, stamp, refs) VALUES (?, ?, ?, ?, ?, ?)`
	selectRecord     = `SELECT stamp, refs, dropped FROM records` + inBucket + ` AND seq = ?`
	selectRecords    = `SELECT seq, stamp, refs, dropped FROM records` + inBucket + ` AND seq > ? LIMIT ?`
	dropRef          = `UPDATE records SET dropped = dropped + ?` + inBucket + ` AND seq = ?`
	// The tail stays, so that a node with an old state cannot create the bucket again.
	deleteBucket = `DELETE FROM records` + inBucket + ` AND seq > 0`
	selectTails  = `SELECT DISTINCT store, part, bucket, tail FROM records`

	selectPartition = `SELECT term, holder, record FROM partitions WHERE store = ? AND part = ?`
	beginPartition  = `INSERT INTO partitions (store, part, term, holder, record) VALUES (?, ?, 0, 0, 0) IF NOT EXISTS`
	takePartition   = `UPDATE partitions SET term = ?, holder = ? WHERE store = ? AND part = ? IF term < ?`
	moveCheckpoint  = `UPDATE partitions SET record = ? WHERE store = ? AND part = ? IF term = ? AND record <= ?`
)
