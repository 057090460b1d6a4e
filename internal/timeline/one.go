package timeline

import "context"

// One reads an entry, or gives the head that it is below, which is above 0: it was removed. Where it gives neither, an entry with seq 0 and
// head 0, the log is damaged: an entry is missing.
func One(ctx context.Context, log Log, key Key, seq uint64) (e Entry, head uint64, err error) {
	found, err := log.Get(ctx, []Ref{{Key: key, From: seq, To: seq}})
	if err != nil {
		return e, 0, err
	}
	if len(found) > 0 {
		return found[0], 0, nil
	}
	tail, err := log.Tail(ctx, key)
	if err != nil || seq >= tail.Head {
		return e, 0, err
	}
	return e, tail.Head, nil
}
