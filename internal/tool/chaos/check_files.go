package chaos

import (
	"fmt"
	"maps"
	"slices"
)

// checkMedia is INV15 for files: every node returns a completed file as it was sent, even if other bytes were sent to its URL later; and
// no file is refused.
func checkMedia(m *analysis) *Verdict {
	v := verdict("INV15", "files have the bytes that were sent")
	sent := map[string]string{}
	for _, o := range m.ops {
		switch {
		case o.F == FUpload && o.how == Ok:
			sent[o.ID] = o.Text
		case o.F == FUpload && o.how == Fail:
			v.violate("the upload of %d bytes, begun at %s, was refused at %s: %s", o.N, at(o.begin), at(o.end), o.Err)
		}
	}
	read, whole := 0, map[string]bool{}
	for _, o := range m.ops {
		if o.F != FDownload && o.F != FFile {
			continue
		}
		switch {
		case o.how == Fail:
			v.violate("the file %s is complete, but %s refused to return it at %s: %s", o.ID, o.Node, at(o.end), o.Err)
		case o.how == Ok:
			read++
			whole[o.ID] = whole[o.ID] || o.F == FFile
			if o.Text != sent[o.ID] {
				v.violate("the file %s read from %s at %s has %d bytes that differ from those sent", o.ID, o.Node, at(o.end), o.N)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(sent)) {
		if !whole[id] {
			v.violate("the file %s is complete, but could not be read at the end", id)
		}
	}
	v.What = fmt.Sprintf("%d files, read %d times", len(sent), read)
	if len(sent) == 0 && v.State == Holds {
		v.State, v.What = NotChecked, "this load sends no files"
	}
	return v
}
