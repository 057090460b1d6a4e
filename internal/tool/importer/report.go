package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/tool/interchangefile"
)

// Report is what a load did. Each count of the source is that of what was imported and what was skipped, or Mismatches says so.
type Report struct {
	Source   string                 `json:"source"`
	Imported interchangefile.Counts `json:"imported"`
	// Converted counts what the converter left out, by kind; it is listed in skipped.jsonl.
	Converted map[string]int64 `json:"skipped_by_converter"`
	// Skipped counts what the server refused, by kind and reason.
	Skipped map[string]int64 `json:"skipped_by_server"`
	// Reasons are the first thousand of them.
	Reasons []interchangefile.Skipped `json:"reasons,omitempty"`
	// Altered counts messages that lack something, such as a reply whose target was not imported.
	Altered    map[string]int64 `json:"altered,omitempty"`
	Mismatches []string         `json:"mismatches,omitempty"`
}

// skip records what the server refused.
func (l *loader) skip(kind, where, reason, message string) {
	r := &l.at.Report
	r.Skipped[kind+": "+reason]++
	if len(r.Reasons) < maxReasons {
		r.Reasons = append(r.Reasons, interchangefile.Skipped{Kind: kind, Where: where, Reason: reason + ": " + message})
	}
}

// memberships counts those of a conversation at its beginning, or skips them for a reason.
func (l *loader) memberships(c *interchangefile.Conversation, reason string) {
	if c.Kind == interchangefile.Thread {
		return
	}
	for _, m := range slices.Compact(slices.Sorted(slices.Values(append([]string{c.Owner}, c.Members...)))) {
		switch _, known := l.users[m]; {
		case reason != "":
			l.skip("membership", c.ID+" "+m, reason, "its conversation was refused")
		case !known:
			l.skip("membership", c.ID+" "+m, "no_user", "the user was not imported")
		default:
			l.at.Report.Imported.Memberships++
		}
	}
}

// account counts an entry as imported, or as skipped for a reason.
func (l *loader) account(e *interchangefile.Entry, reason, message string) {
	kind := "entry"
	switch {
	case e.IsMessage():
		kind = "message"
	case e.Kind == interchangefile.Reaction:
		kind = "reaction"
	}
	if reason != "" {
		l.skip(kind, e.Conversation+" "+e.ID, reason, message)
		if e.IsMessage() {
			for range e.Files {
				l.skip("attachment", e.Conversation+" "+e.ID, reason, "its message was refused")
			}
		}
		return
	}
	in := &l.at.Report.Imported
	in.Entries++
	switch kind {
	case "message":
		in.Messages++
		l.at.Stored++
		in.Attachments += int64(len(e.Files))
	case "reaction":
		in.Reactions++
	}
}

// compare compares the counts of the source with those of what was imported and skipped.
func (l *loader) compare() {
	r, want := &l.at.Report, l.reader.Manifest.Counts
	check := func(what string, imported, in int64, kinds ...string) {
		skipped := int64(0)
		for reason, n := range r.Skipped {
			for _, kind := range kinds {
				if strings.HasPrefix(reason, kind+": ") {
					skipped += n
				}
			}
		}
		if imported+skipped != in {
			r.Mismatches = append(r.Mismatches, fmt.Sprintf("%s: %d in the source, %d imported and %d skipped", what, in, imported, skipped))
		}
	}
	check("users", r.Imported.Users, want.Users, "user")
	check("relations", r.Imported.Relations, want.Relations, "relation")
	check("videos", r.Imported.Videos, want.Videos, "video")
	check("posts", r.Imported.Posts, want.Posts, "post")
	check("comments", r.Imported.Comments, want.Comments, "comment")
	check("likes", r.Imported.Likes, want.Likes, "like")
	check("conversations", r.Imported.Conversations, want.Conversations, "conversation")
	check("memberships", r.Imported.Memberships, want.Memberships, "membership")
	check("attachments", r.Imported.Attachments, want.Attachments, "attachment")
	check("messages", r.Imported.Messages, want.Messages, "message")
	check("reactions", r.Imported.Reactions, want.Reactions, "reaction")
	check("entries", r.Imported.Entries, want.Entries, "entry", "message", "reaction")
}
