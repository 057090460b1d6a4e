package timeline

// RowKind is what a Row says.
type RowKind byte

// Kinds of rows.
const (
	RowEntry      RowKind = iota + 1 // Key, Entry
	RowTail                          // Key (a conversation), Tail without its head
	RowHead                          // Key, Seq: the head
	RowAuthor                        // Key, Author, Seq and Counted: the author's latest
	RowToken                         // Key, Token, Seq: the entry that it was stored with
	RowCheckpoint                    // Partition, Seq
	RowRecord                        // Partition, Record, above the checkpoint
)

// Row is a part of a log, as one engine gives it and another takes it when a whole store is moved. The port promises nothing
// about rows; who moves them has the source to itself, and nobody reads the target.
type Row struct {
	Kind         RowKind
	Key          Key
	Entry        Entry
	Tail         Tail
	Seq, Counted uint64
	Author       uint64
	Token        Token
	Partition    uint16
	Record       Record
}

// Stored is a token as it is stored: in a key.
type Stored struct {
	Key   Key
	Token Token
}

// Writer is an author in a key.
type Writer struct {
	Key    Key
	Author uint64
}

// Place of an entry.
type Place struct{ Seq, Counted uint64 }

// Device of a sender.
type Device struct{ Sender, Device uint64 }
