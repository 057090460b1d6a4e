package video

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/platform/reconciliation"
)

// filesFolder is the first part of the keys of files.
const filesFolder = "video"

// FileOwner says which stored files belong to no video.
func (s *Service) FileOwner() reconciliation.FileOwner { return fileOwner{s} }

type fileOwner struct{ *Service }

// Folder is a reconciliation.FileOwner's.
func (fileOwner) Folder() string { return filesFolder }

// storedFile is what the key of a file says.
type storedFile struct {
	key, track     string
	video          uint64
	first, attempt int64
}

func parseKey(key string) (f storedFile, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 4 {
		return f, false
	}
	track, attempt := cutLast(parts[3])
	track, first := cutLast(track)
	f = storedFile{key: key, track: track}
	var errs [3]error
	f.video, errs[0] = strconv.ParseUint(parts[2], 10, 63)
	f.first, errs[1] = strconv.ParseInt(first, 10, 64)
	f.attempt, errs[2] = strconv.ParseInt(attempt, 10, 64)
	return f, errors.Join(errs[:]...) == nil && key == blobKey(f.video, f.track, f.first, f.attempt)
}

// cutLast cuts a name at its last hyphen: tracks have some.
func cutLast(name string) (before, after string) {
	n := strings.LastIndexByte(name, '-')
	return name[:max(n, 0)], name[n+1:]
}

// Unreferenced is a reconciliation.FileOwner's. All files of a video that is processed, and of one that the sweep will clean, are left alone.
func (s fileOwner) Unreferenced(ctx context.Context, keys []string) (list []string, err error) {
	byVideo := map[uint64][]storedFile{}
	var order []uint64
	for _, key := range keys {
		f, ok := parseKey(key)
		if !ok {
			continue
		}
		if byVideo[f.video] == nil {
			order = append(order, f.video)
		}
		byVideo[f.video] = append(byVideo[f.video], f)
	}
	for _, n := range order {
		isNamed, err := s.namedFiles(ctx, n)
		if err != nil {
			return nil, err
		}
		for _, f := range byVideo[n] {
			if !isNamed(f) {
				list = append(list, f.key)
			}
		}
	}
	return list, nil
}

// namedFiles returns whether a file of a video is named by a row, or may be by an attempt that has begun. No key is written twice, so another file never will be.
func (s fileOwner) namedFiles(ctx context.Context, n uint64) (isNamed func(storedFile) bool, err error) {
	var state, cleanMs int64
	var retriable bool
	var tasks []*task
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		if err := tx.QueryRowContext(ctx, `SELECT state, retriable, clean_ms FROM videos WHERE id = $1`, int64(n)).Scan(&state, &retriable, &cleanMs); err != nil {
			return err
		}
		tasks, err = tasksOf(ctx, tx, n, "")
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return func(storedFile) bool { return false }, nil
	}
	return func(f storedFile) bool {
		switch {
		case state < stateReady || cleanMs > 0:
			return true
		case state == stateDeleted || state == stateFailed && !retriable:
			return false
		}
		return slices.ContainsFunc(tasks, func(t *task) bool {
			if t.track != f.track || t.first != f.first && !isStage(t.track) { // of a stage, first counts its outputs
				return false
			}
			return t.stored == f.attempt || state == stateReady && t.stored == 0 && t.job > 0
		})
	}, err
}
