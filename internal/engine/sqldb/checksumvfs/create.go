package checksumvfs

import (
	"fmt"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	sqlite3 "modernc.org/sqlite/lib"
)

func size(n uintptr) types.Size_t { return types.Size_t(n) }

// Create creates an empty database in WAL mode whose pages have checksums, if the file is missing or empty. database/sql cannot set the
// number of reserved bytes: that needs sqlite3_file_control before the first page is written.
func Create(path string) (err error) {
	if err := Register(); err != nil {
		return err
	}
	tls := libc.NewTLS()
	defer tls.Close()
	var texts [3]uintptr
	for i, text := range [...]string{path, Name, "PRAGMA journal_mode=WAL"} {
		if texts[i], err = libc.CString(text); err != nil {
			return err
		}
		defer libc.Xfree(tls, texts[i])
	}
	space := tls.Alloc(16)
	defer tls.Free(16)
	db, reserve := at[uintptr](space), at[int32](space+8)
	*db, *reserve = 0, Size
	rc := sqlite3.Xsqlite3_open_v2(tls, texts[0], space, sqlite3.SQLITE_OPEN_READWRITE|sqlite3.SQLITE_OPEN_CREATE, texts[1])
	if rc == sqlite3.SQLITE_OK {
		rc = sqlite3.Xsqlite3_file_control(tls, *db, 0, sqlite3.SQLITE_FCNTL_RESERVE_BYTES, space+8)
	}
	if rc == sqlite3.SQLITE_OK {
		rc = sqlite3.Xsqlite3_exec(tls, *db, texts[2], 0, 0, 0)
	}
	if rc != sqlite3.SQLITE_OK {
		rc = sqlite3.Xsqlite3_extended_errcode(tls, *db)
		err = &Error{Path: path, Code: int(rc), Text: libc.GoString(sqlite3.Xsqlite3_errmsg(tls, *db))}
	}
	if rc := sqlite3.Xsqlite3_close_v2(tls, *db); rc != sqlite3.SQLITE_OK && err == nil {
		err = fmt.Errorf("closing %s: code %d", path, rc)
	}
	return err
}

// Error is an error of SQLite in Create.
type Error struct {
	Path string
	Code int // SQLite's, extended
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("creating %s: %s (%d)", e.Path, e.Text, e.Code) }
