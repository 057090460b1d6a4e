// Package checksumvfs gives each page of a SQLite database a checksum, which SQLite itself does not have. The technique is that of
// SQLite's own extension cksumvfs: the last eight bytes of a page are reserved (byte 20 of the file's header is 8), and a shim around
// the default VFS writes the checksum there with each write of a page and compares it with each read. A read of a page that does not
// match fails with SQLITE_IOERR_DATA, and watchers of the file are notified of the page.
//
// Unlike in cksumvfs, the checksum covers the page's number: a page of zeros, or one written to the wrong offset, does not match.
// docs/formats/datadir.md has the bytes.
//
// Only the database file is covered. The frames of a write-ahead log have checksums of SQLite's own, which it compares when it recovers the
// log; their pages get these checksums when they are copied to the database file. A database whose reserve is 0 has no checksums, and is
// read as it is.
package checksumvfs

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Name of the VFS, for a DSN's parameter vfs.
const Name = "rialto-checksum"

// Size of a checksum: the reserve of each page.
const Size = 8

const (
	reserveAt = 20 // of the file's header
	magic     = "SQLite format 3\x00"
)

// Sum returns the checksum of a page, numbered from 1, without its last eight bytes: CRC-32C in the upper half and CRC-32 (IEEE)
// in the lower, each of the number (4 bytes, big-endian) and the bytes.
func Sum(number uint32, content []byte) uint64 {
	prefix := binary.BigEndian.AppendUint32(make([]byte, 0, 4), number)
	c := crc32.Update(crc32.Update(0, castagnoli, prefix), castagnoli, content)
	e := crc32.Update(crc32.Update(0, crc32.IEEETable, prefix), crc32.IEEETable, content)
	return uint64(c)<<32 | uint64(e)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// The functions of C, as the translated library calls them.
type (
	openFunc  = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32
	ioFunc    = func(tls *libc.TLS, file, buffer uintptr, n int32, offset int64) int32
	flagsFunc = func(tls *libc.TLS, file uintptr) int32
	fetchFunc = func(tls *libc.TLS, file uintptr, offset int64, n int32, page uintptr) int32
)

// shim is this VFS over another one, in C memory.
type shim struct {
	sqlite3.Tsqlite3_vfs         // what SQLite sees
	openBelow            uintptr // opens by the VFS below
	stateAt              uintptr // offset of a file's state from its start
}

// state of an open database file. It is in C memory, after the file of the VFS below.
type state struct {
	sqlite3.Tsqlite3_io_methods         // what SQLite sees; the file points to it
	below                       uintptr // the methods of the VFS below
	name                        uintptr // of the file; SQLite keeps it until the file is closed
	checksum                    bool    // the pages have checksums
}

// Register makes the VFS known to SQLite, once.
func Register() error { return registered() }

var registered = sync.OnceValue(register)

func register() error {
	tls := libc.NewTLS()
	defer tls.Close()
	below := sqlite3.Xsqlite3_vfs_find(tls, 0)
	name, err := libc.CString(Name)
	if below == 0 || err != nil {
		return fmt.Errorf("SQLite has no VFS (%v)", err)
	}
	address := libc.Xmalloc(tls, size(unsafe.Sizeof(shim{})))
	if address == 0 {
		return fmt.Errorf("registering %s: out of memory", Name)
	}
	// All functions but open are those of the VFS below, which finds its data in the copy.
	s := at[shim](address)
	*s = shim{Tsqlite3_vfs: *at[sqlite3.Tsqlite3_vfs](below)}
	s.openBelow = s.FxOpen
	s.stateAt = (uintptr(s.FszOsFile) + 7) &^ 7
	s.FpNext, s.FzName, s.FszOsFile = 0, name, int32(s.stateAt+unsafe.Sizeof(state{}))
	s.FxOpen = pointer[openFunc](open)
	if rc := sqlite3.Xsqlite3_vfs_register(tls, address, 0); rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("registering %s: code %d", Name, rc)
	}
	return nil
}

// at returns the value at an address of C memory.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// function returns the function that a pointer of C points to, and pointer the reverse. f must be a function of a package, not a closure.
func function[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&p)) }

func pointer[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

// stateOf returns the state of a file that this VFS opened.
func stateOf(file uintptr) *state { return at[state](at[sqlite3.Tsqlite3_file](file).FpMethods) }

func (s *state) methods() *sqlite3.Tsqlite3_io_methods {
	return at[sqlite3.Tsqlite3_io_methods](s.below)
}

// open opens a file by the VFS below. A database file gets this VFS's methods for reading and writing pages, and keeps the others.
func open(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32 {
	shim := at[shim](vfs)
	rc := function[openFunc](shim.openBelow)(tls, vfs, name, file, flags, outFlags)
	if rc != sqlite3.SQLITE_OK || flags&sqlite3.SQLITE_OPEN_MAIN_DB == 0 {
		return rc
	}
	f := at[sqlite3.Tsqlite3_file](file)
	s := at[state](file + shim.stateAt)
	*s = state{Tsqlite3_io_methods: *at[sqlite3.Tsqlite3_io_methods](f.FpMethods), below: f.FpMethods, name: name}
	s.FxRead = pointer[ioFunc](read)
	s.FxWrite = pointer[ioFunc](write)
	s.FxDeviceCharacteristics = pointer[flagsFunc](deviceCharacteristics)
	if s.FiVersion >= 3 {
		s.FxFetch = pointer[fetchFunc](fetch)
	}
	f.FpMethods = file + shim.stateAt
	return rc
}

func read(tls *libc.TLS, file, buffer uintptr, n int32, offset int64) int32 {
	s := stateOf(file)
	rc := function[ioFunc](s.methods().FxRead)(tls, file, buffer, n, offset)
	b := unsafe.Slice(at[byte](buffer), n)
	if rc == sqlite3.SQLITE_OK {
		s.readHeader(b, offset)
	}
	number, ok := pageNumber(n, offset)
	if !ok || rc != sqlite3.SQLITE_OK && (rc != sqlite3.SQLITE_IOERR_SHORT_READ || !s.checksum) {
		return rc
	}
	// A page beyond the end of the file is read as zeros, and does not match either.
	if matches(number, b) == s.checksum && !(number == 1 && s.isReserveDamaged(b)) {
		return rc
	}
	// If the header has no reserve but the page has a checksum, the header is corrupt.
	if !s.checksum {
		number = 1
	}
	all.report(Fault{Path: libc.GoString(s.name), Page: number})
	return sqlite3.SQLITE_IOERR_DATA
}

func write(tls *libc.TLS, file, buffer uintptr, n int32, offset int64) int32 {
	s := stateOf(file)
	b := unsafe.Slice(at[byte](buffer), n)
	s.readHeader(b, offset)
	if number, ok := pageNumber(n, offset); ok && s.checksum {
		// In SQLite's own copy of the page: it does not use the reserved bytes.
		binary.BigEndian.PutUint64(b[len(b)-Size:], Sum(number, b[:len(b)-Size]))
	}
	return function[ioFunc](s.methods().FxWrite)(tls, file, buffer, n, offset)
}

// readHeader determines from a file's header, if b begins with it, whether its pages have checksums.
func (s *state) readHeader(b []byte, offset int64) {
	if offset == 0 && len(b) >= 100 && string(b[:len(magic)]) == magic {
		s.checksum = b[reserveAt] == Size
	}
}

// isReserveDamaged reports whether the first page has a checksum although the header says that there are none.
func (s *state) isReserveDamaged(b []byte) bool {
	if s.checksum {
		return false
	}
	was := b[reserveAt]
	b[reserveAt] = Size
	defer func() { b[reserveAt] = was }()
	return matches(1, b)
}

func matches(number uint32, page []byte) bool {
	end := len(page) - Size
	return binary.BigEndian.Uint64(page[end:]) == Sum(number, page[:end])
}

// pageNumber returns the number of the page that is read or written, if it is a whole page.
func pageNumber(n int32, offset int64) (uint32, bool) {
	if n < 512 || n&(n-1) != 0 || offset%int64(n) != 0 {
		return 0, false
	}
	return uint32(offset/int64(n)) + 1, true
}

// deviceCharacteristics keeps SQLite from reading parts of pages, which could not be compared.
func deviceCharacteristics(tls *libc.TLS, file uintptr) int32 {
	return function[flagsFunc](stateOf(file).methods().FxDeviceCharacteristics)(tls, file) &^ sqlite3.SQLITE_IOCAP_SUBPAGE_READ
}

// fetch returns no page of a memory mapping, which could not be compared: SQLite then reads it.
func fetch(_ *libc.TLS, _ uintptr, _ int64, _ int32, page uintptr) int32 {
	*at[uintptr](page) = 0
	return sqlite3.SQLITE_OK
}
