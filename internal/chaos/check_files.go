package chaos

import (
	"fmt"
	"maps"
	"slices"
)

// media is INV15, as far as files go: one that is complete is there, by every node, as it was sent, whatever else is put in its
// place; and none is refused.
func media(m *material) *Verdict {
	v := verdict("INV15", "files are what was sent")
	sent := map[string]string{}
	for _, o := range m.ops {
		switch {
		case o.F == FUpload && o.how == Ok:
			sent[o.ID] = o.Text
		case o.F == FUpload && o.how == Fail:
			v.violate("a file of %d bytes, begun at %s, was refused at %s: %s", o.N, at(o.begin), at(o.end), o.Err)
		}
	}
	read, whole := 0, map[string]bool{}
	for _, o := range m.ops {
		if o.F != FDownload && o.F != FFile {
			continue
		}
		switch {
		case o.how == Fail:
			v.violate("the file %s is complete, and %s refused it at %s: %s", o.ID, o.Node, at(o.end), o.Err)
		case o.how == Ok:
			read++
			whole[o.ID] = whole[o.ID] || o.F == FFile
			if o.Text != sent[o.ID] {
				v.violate("the file %s is, by %s at %s, %d other bytes than were sent", o.ID, o.Node, at(o.end), o.N)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(sent)) {
		if !whole[id] {
			v.violate("the file %s is complete, and cannot be read in the end", id)
		}
	}
	v.What = fmt.Sprintf("%d files, read %d times", len(sent), read)
	if len(sent) == 0 && v.State == Holds {
		v.State, v.What = NotChecked, "no files are sent in these loads"
	}
	return v
}
