package rialto

import (
	"context"
	"strings"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	// importRows and importBytes bound a part of an import. The server takes 2,000 rows and 512 KiB.
	importRows  = 2000
	importBytes = 400 << 10
	maxReported = 100 // errors, and changes
)

// ImportOptions of ImportMembers.
type ImportOptions struct {
	// DryRun changes nothing.
	DryRun bool
	// Partial applies the lines without errors, even if others are wrong.
	Partial bool
	// Progress is called after each part with the number of parts that are done, and of all. May be nil.
	Progress func(done, of int)
}

// ImportMembers imports members of an organization from a CSV of any size, in parts of at most 2,000 rows. Unless Partial is set, it first checks all
// parts, and applies none if a line is wrong. After an error, call it again: what was applied is not applied twice. The answer has the first 100
// errors and changes.
func (c *Client) ImportMembers(ctx context.Context, organization uint64, csv string, o ImportOptions) (*chatv1.ImportOrganizationMembersResponse, error) {
	parts := splitCSV(csv)
	rounds := []bool{true, false} // dry, and then not
	switch {
	case o.DryRun:
		rounds = rounds[:1]
	case o.Partial:
		rounds = rounds[1:]
	}
	var sum *chatv1.ImportOrganizationMembersResponse
	done := 0
	for _, dry := range rounds {
		sum = &chatv1.ImportOrganizationMembersResponse{}
		for _, part := range parts {
			r := &chatv1.ImportOrganizationMembersRequest{Organization: organization, Csv: part.csv, FirstLine: part.firstLine, DryRun: dry, Partial: o.Partial || dry && len(parts) > 1}
			got, err := c.organization.ImportOrganizationMembers(ctx, connect.NewRequest(r))
			if err != nil {
				return sum, err
			}
			addImport(sum, got.Msg)
			if done++; o.Progress != nil {
				o.Progress(done, len(parts)*len(rounds))
			}
		}
		if sum.Wrong > 0 && !o.Partial {
			break
		}
	}
	return sum, nil
}

func addImport(sum, part *chatv1.ImportOrganizationMembersResponse) {
	sum.Errors = append(sum.Errors, part.Errors...)
	sum.Errors = sum.Errors[:min(len(sum.Errors), maxReported)]
	sum.Changes = append(sum.Changes, part.Changes...)
	sum.Changes = sum.Changes[:min(len(sum.Changes), maxReported)]
	sum.Wrong += part.Wrong
	sum.Added += part.Added
	sum.Changed += part.Changed
	sum.Unchanged += part.Unchanged
	sum.DepartmentsAdded += part.DepartmentsAdded
}

type csvPart struct {
	csv       string
	firstLine uint32
}

// splitCSV splits a CSV into parts that a call takes, each with the names of the columns. Quoted fields may have line breaks.
func splitCSV(text string) []csvPart {
	text = strings.TrimPrefix(text, "\ufeff")
	var parts []csvPart
	header, rows, size := "", 0, 0
	start, startLine, line, quoted := 0, uint32(1), uint32(1), false
	end := func(record string) {
		if header == "" {
			header = record
			return
		}
		if len(parts) == 0 || rows == importRows || size+len(record) > importBytes {
			parts = append(parts, csvPart{header, startLine})
			rows, size = 0, 0
		}
		parts[len(parts)-1].csv += record
		rows++
		size += len(record)
	}
	for i := range len(text) {
		switch text[i] {
		case '"':
			quoted = !quoted
		case '\n':
			if line++; !quoted {
				end(text[start : i+1])
				start, startLine = i+1, line
			}
		}
	}
	if start < len(text) {
		end(text[start:] + "\n")
	}
	if len(parts) == 0 {
		return []csvPart{{text, 2}}
	}
	return parts
}
