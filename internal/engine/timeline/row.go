package timeline

// RowKind is the kind of a Row.
type RowKind byte

// Kinds of rows.
const (
	RowEntry      RowKind = iota + 1 // Key, Entry
	RowTail                          // Key (a conversation), Tail without FirstSeq
	RowFirstSeq                      // Key, Seq: the first seq
	RowAuthor                        // Key, Author, Seq and Counted: the author's latest
	RowToken                         // Key, Token, Seq: the entry that it was stored with
	RowCheckpoint                    // Partition, Seq
	RowRecord                        // Partition, Record, above the checkpoint
)

// Row is a part of a log in a form that engines exchange when a whole store is migrated. During a migration nobody writes the source, and
// nobody reads the target.
type Row struct {
	Kind         RowKind
	Key          Key
	Entry        Entry
	Tail         Tail
	Seq, Counted uint64
	Author       uint64
	Token        Token
	Partition    uint16
	Record       FanoutRecord
}

// TokenKey is a token within a key.
type TokenKey struct {
	Key   Key
	Token Token
}

// AuthorKey is an author within a key.
type AuthorKey struct {
	Key    Key
	Author uint64
}

// Position is the place of an entry in a conversation.
type Position struct{ Seq, Counted uint64 }

// Device of a sender.
type Device struct{ Sender, Device uint64 }
