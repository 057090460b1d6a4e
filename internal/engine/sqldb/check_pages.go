package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/engine/sqldb/checksumvfs"
)

// InspectFile reads what a file says about its data directory. If the file has at most maxBytes, it also checks its pages, which checked
// reports. Nothing is changed; with maxBytes 0 the directory may be read-only.
func InspectFile(ctx context.Context, path string, maxBytes int64) (m Meta, damage []string, checked bool, err error) {
	var db *sql.DB
	var closeDB func() error
	if maxBytes == 0 {
		db, closeDB, err = OpenSnapshot(path)
	} else if db, err = OpenReadOnly(path); err == nil {
		closeDB = db.Close
	}
	if err != nil {
		return m, nil, false, err
	}
	defer func() { err = errors.Join(err, closeDB()) }()
	m, unread := ReadMeta(ctx, db)
	if info, err := os.Stat(path); err != nil || info.Size() > maxBytes {
		return m, nil, false, errors.Join(unread, err)
	}
	if damage, err = CheckPages(ctx, db, false); len(damage) > 0 {
		return m, damage, true, nil // whose message is more precise
	}
	return m, nil, true, errors.Join(unread, err)
}

// maxDamage bounds the listed findings of a file.
const maxDamage = 100

// CheckPages checks a file's pages and names the tables of those that do not match their checksums or are inconsistent. full also compares
// the indexes with their tables.
func CheckPages(ctx context.Context, db *sql.DB, full bool) (damage []string, err error) {
	path, err := filePath(ctx, db)
	if err != nil {
		return nil, err
	}
	faults := watchFile(path, nil)
	defer func() { err = errors.Join(faults.explain(err), faults.stop()) }()
	names, err := rootPages(ctx, db)
	if fault := faults.last.Load(); isMismatch(err) && fault != nil {
		// Without the schema nothing else can be read.
		return []string{"the schema: " + fault.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	mismatched, err := mismatchedPages(ctx, db)
	if err != nil {
		return nil, err
	}
	pragma := "quick_check"
	if full {
		pragma = "integrity_check"
	}
	rows, err := db.QueryContext(ctx, `PRAGMA `+pragma+`(`+strconv.Itoa(maxDamage)+`)`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var unread error
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return damage, err
		}
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if isUnread(line, faults.last.Load() != nil) {
				unread = errors.New("a page could not be read: " + line)
			} else if line != "" && line != "ok" && !strings.HasPrefix(line, "***") {
				damage = append(damage, nameTable(line, names))
			}
		}
	}
	for _, page := range mismatched {
		if !slices.ContainsFunc(damage, func(line string) bool { return namesPage(line, page) }) {
			damage = append(damage, (&checksumvfs.Fault{Path: path, Page: page}).Error())
		}
	}
	return damage[:min(len(damage), maxDamage)], errors.Join(unread, rows.Err())
}

// filePath returns the file of a database.
func filePath(ctx context.Context, db *sql.DB) (path string, err error) {
	var n int
	var name string
	err = db.QueryRowContext(ctx, `PRAGMA database_list`).Scan(&n, &name, &path)
	return path, err
}

// mismatchedPages reads all pages and returns those that do not match their checksums.
func mismatchedPages(ctx context.Context, db *sql.DB) (pages []uint32, err error) {
	var n, bytes int64
	// One statement reads all pages. Only if it fails is each page read separately.
	err = db.QueryRowContext(ctx, `SELECT coalesce(sum(length(data)), 0) FROM sqlite_dbpage`).Scan(&bytes)
	if !isMismatch(err) {
		return nil, err
	}
	if err := db.QueryRowContext(ctx, `PRAGMA page_count`).Scan(&n); err != nil {
		return nil, err
	}
	for page := int64(1); page <= n && len(pages) < maxDamage; page++ {
		err := db.QueryRowContext(ctx, `SELECT length(data) FROM sqlite_dbpage WHERE pgno = $1`, page).Scan(&bytes)
		if isMismatch(err) {
			pages = append(pages, uint32(page))
		} else if err != nil {
			return pages, err
		}
	}
	return pages, nil
}

// rootPages returns the tables and indexes by their root pages.
func rootPages(ctx context.Context, db *sql.DB) (map[int]string, error) {
	rows, err := db.QueryContext(ctx, `SELECT rootpage, type, name, tbl_name FROM sqlite_master WHERE rootpage > 0`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names := map[int]string{1: "the schema"}
	for rows.Next() {
		var page int
		var kind, name, table string
		if err := rows.Scan(&page, &kind, &name, &table); err != nil {
			return nil, err
		}
		names[page] = "table " + table
		if kind == "index" {
			names[page] = "index " + name + " of table " + table
		}
	}
	return names, rows.Err()
}

// nameTable prefixes a line of SQLite, such as "Tree 5 page 7: ...", with the table's name.
func nameTable(line string, names map[int]string) string {
	line = strings.Replace(line, "unable to get the page. error code=8202", "it does not match its checksum", 1)
	words := strings.Fields(line)
	if i := slices.Index(words, "Tree"); i >= 0 && i+1 < len(words) {
		if n, err := strconv.Atoi(strings.Trim(words[i+1], ":")); err == nil && names[n] != "" {
			return names[n] + ": " + line
		}
	}
	return line
}

// isUnread reports whether a line of SQLite says only that a page could not be read, which may pass and is no damage. mismatch: some page did not
// match its checksum. SQLite says no more of pages of large values.
func isUnread(line string, mismatch bool) bool {
	_, code, found := strings.Cut(line, "unable to get the page. error code=")
	if n, err := strconv.Atoi(code); found {
		return err == nil && !isCorruption(n)
	}
	return !mismatch && strings.Contains(line, "failed to get page ")
}

// namesPage reports whether a line of SQLite says that it could not read a page, as "page 7: unable to get the page" or "failed to get page 7".
func namesPage(line string, page uint32) bool {
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == ':' || r == '(' })
	for i := range words[:max(len(words)-1, 0)] {
		if words[i] == "page" && words[i+1] == strconv.FormatUint(uint64(page), 10) {
			return true
		}
	}
	return false
}
