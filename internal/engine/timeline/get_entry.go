package timeline

import "context"

// GetEntry reads an entry. If the entry was removed, it returns the first seq that was not, which is above 0. If both results are zero, the
// entry is missing and the log is corrupt.
func GetEntry(ctx context.Context, log Log, key Key, seq uint64) (e Entry, firstSeq uint64, err error) {
	found, err := log.Get(ctx, []Ref{{Key: key, From: seq, To: seq}})
	if err != nil {
		return e, 0, err
	}
	if len(found) > 0 {
		return found[0], 0, nil
	}
	tail, err := log.Tail(ctx, key)
	if err != nil || seq >= tail.FirstSeq {
		return e, 0, err
	}
	return e, tail.FirstSeq, nil
}
