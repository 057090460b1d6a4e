package reconciliation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/engine/blob"
)

// FileOwner has the rows of the files in a folder of the store.
type FileOwner interface {
	// Folder is the first part of the keys of its files. No other owner has it.
	Folder() string
	// Unreferenced returns the keys, among some existing files, that no row names and that no row will name later. So a returned file may be deleted at any time. Keys that do not look like those of the owner's files are not
	// returned.
	Unreferenced(ctx context.Context, keys []string) ([]string, error)
}

const (
	// unreferencedAfter is the age from which a file is compared. An upload in progress has a row, so rows alone say whether a file is needed. The owners of younger files delete their own.
	unreferencedAfter = 48 * time.Hour
	// listedAtOnce bounds the files of one listing.
	listedAtOnce = 1000
)

// UnreferencedFiles compares the files of a store with the rows that name them. A repair deletes the file.
type UnreferencedFiles struct {
	Store  blob.Store
	Owners []FileOwner
	Clock  clock.Clock
}

// Name implements Comparison.
func (u UnreferencedFiles) Name() string { return "unreferenced_files" }

// Compare implements Comparison. A position is a folder, a space, and a position in the store's listing of that folder.
func (u UnreferencedFiles) Compare(ctx context.Context, after string, limit int) (step Step, err error) {
	folder, at, _ := strings.Cut(after, " ")
	n := slices.IndexFunc(u.Owners, func(o FileOwner) bool { return o.Folder() == folder })
	if n < 0 { // the round begins, or the folder has no owner any more
		n, at = 0, ""
	}
	for pages := 0; step.Items < limit; pages++ {
		page, err := u.Store.List(ctx, u.Owners[n].Folder(), at, min(limit-step.Items, listedAtOnce))
		if err == nil {
			err = u.compare(ctx, u.Owners[n], page.Files, &step)
		}
		if err != nil && pages > 0 { // perhaps the step has used its time: the next step begins here
			break
		}
		if err != nil {
			return Step{}, err
		}
		step.Items += max(len(page.Files), 1) // an empty page is work, too
		if at = page.Next; at == "" {
			if n++; n == len(u.Owners) {
				return step, nil
			}
		}
	}
	step.Next = u.Owners[n].Folder() + " " + at
	return step, nil
}

// compare adds those files of an owner that no row names to a step.
func (u UnreferencedFiles) compare(ctx context.Context, owner FileOwner, files []blob.File, step *Step) error {
	old := u.Clock.Now().Add(-unreferencedAfter)
	var keys []string
	byKey := make(map[string]blob.File, len(files))
	for _, f := range files {
		if f.Modified.Before(old) {
			keys, byKey[f.Key] = append(keys, f.Key), f
		}
	}
	if len(keys) == 0 {
		return nil
	}
	found, err := owner.Unreferenced(ctx, keys)
	for _, key := range found {
		step.Differences = append(step.Differences, Difference{Subject: key, Reason: FileUnreferenced, Values: Values{"size": fmt.Sprint(byKey[key].Size), "date": byKey[key].Modified.UTC().Format(time.DateOnly)}})
	}
	return err
}

// Repair implements Comparison: it deletes a file that no row names.
func (u UnreferencedFiles) Repair(ctx context.Context, key string) error {
	folder, _, _ := strings.Cut(key, "/")
	for _, owner := range u.Owners {
		if owner.Folder() != folder {
			continue
		}
		found, err := owner.Unreferenced(ctx, []string{key})
		if err != nil || len(found) == 0 {
			return err
		}
		return u.Store.Delete(ctx, key)
	}
	return fmt.Errorf("%q names no file", cmp.Or(key, "nothing"))
}
