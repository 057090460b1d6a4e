package sqldb

import "context"

type shortReadsKey struct{}

// ShortReads returns a context for reads of few rows by keys. Its end does not interrupt a statement of SQLite, and is noticed before the next one: to watch a context, the
// driver begins a goroutine for each statement and each row, which takes half as long as such a statement. Other databases are interrupted, since they may not answer.
func ShortReads(ctx context.Context) context.Context {
	return context.WithValue(ctx, shortReadsKey{}, true)
}

// ofDriver returns what the driver of SQLite gets for a context.
func ofDriver(ctx context.Context) context.Context {
	if ctx.Value(shortReadsKey{}) != nil {
		return context.WithoutCancel(ctx)
	}
	return ctx
}
