package sqldb

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"go.opentelemetry.io/otel/trace"
)

// startStatement begins the span of a statement within that of ctx. It has the name of the statement, and neither its text nor its arguments.
func startStatement(ctx context.Context, query, system string) (context.Context, *tracing.Span) {
	ctx, span := tracing.Start(ctx, "sql.statement", trace.SpanKindClient)
	if span != nil {
		span.Text("db.system.name", system)
		span.Text("db.query.summary", summaryOf(query))
	}
	return ctx, span
}

// statementTracer records the statements of PostgreSQL. It implements pgx.QueryTracer.
type statementTracer struct{}

// TraceQueryStart implements pgx.QueryTracer.
func (statementTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	ctx, _ = startStatement(ctx, data.SQL, "postgresql")
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (statementTracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	tracing.Current(ctx).End(data.Err) // the statement's: the context of the query has no other, or none
}

// maxSummaryWords bounds how far a table's name is looked for.
const maxSummaryWords = 200

// summaryOf returns the name of a statement: what it does, and to which table first, as INSERT users.
func summaryOf(query string) string {
	verb, words, tableFollows := "", 0, false
	for word := range strings.FieldsSeq(query) {
		if words++; words > maxSummaryWords {
			break
		}
		if verb == "" {
			verb = strings.ToUpper(word)
			tableFollows = verb == "UPDATE"
			continue
		}
		if table := tableOf(word); tableFollows && table != "" {
			return verb + " " + table
		}
		tableFollows = strings.EqualFold(word, "FROM") || strings.EqualFold(word, "INTO")
	}
	return verb
}

// tableOf returns the name of a table with which a word begins: lower-case letters, digits and underscores. It is "" if there is none.
func tableOf(word string) string {
	end := strings.IndexFunc(word, func(c rune) bool { return c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') })
	if end < 0 {
		return word
	}
	return word[:end]
}
