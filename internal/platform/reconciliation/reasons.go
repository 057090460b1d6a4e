package reconciliation

import (
	"regexp"
)

// Reason identifies what differs, for programs. The console has its text in each language (web/src/console/differenceText.ts).
type Reason string

// The reasons of all comparisons. They are stored, and must not change.
const (
	FileMissing       Reason = "file_missing"
	FileSize          Reason = "file_size"
	FileChanged       Reason = "file_changed"
	FileUnreadable    Reason = "file_unreadable"
	FileUnreferenced  Reason = "file_unreferenced"
	QuotaWrong        Reason = "quota_wrong"
	CountWrong        Reason = "count_wrong"
	SetTooLarge       Reason = "set_too_large"
	InboxLacks        Reason = "inbox_lacks"
	IndexLacksUser    Reason = "index_lacks_user"
	IndexLacksPost    Reason = "index_lacks_post"
	IndexLacksGroup   Reason = "index_lacks_group"
	IndexLacksMessage Reason = "index_lacks_message"
)

// Values replace the placeholders in a reason's text. Any reason about a file may have the value OtherFiles.
type Values map[string]string

// OtherFiles is the number of further files of the same subject that differ.
const OtherFiles = "others"

// texts are the reasons in English, for logs and the audit log. {name} stands for a value.
var texts = map[Reason]string{
	FileMissing:       "its file {file} is missing",
	FileSize:          "its file {file} has {size} bytes, and not {want}",
	FileChanged:       "its file {file} has other bytes than were stored",
	FileUnreadable:    "its file {file} cannot be read: {error}",
	FileUnreferenced:  "no row names this file of {size} bytes, stored on {date}",
	QuotaWrong:        "{used} bytes and {unfinished} unfinished uploads are counted, and there are {want_used} and {want_unfinished}",
	CountWrong:        "{counted} were counted, and the set has {members}",
	SetTooLarge:       "the set is so large that it could not be counted within {minutes} minutes",
	InboxLacks:        "the stream lacks {count} messages of conversation {conversation}, the first of which is {first}",
	IndexLacksUser:    "the search index lacks the user, or has another name",
	IndexLacksPost:    "the search index lacks the post or its video, or has another text",
	IndexLacksGroup:   "the search index lacks the group, or has another title",
	IndexLacksMessage: "the search index lacks messages, or has other texts of them; the first is number {first}",
}

// otherFilesText is appended to the text of a reason that has the value OtherFiles.
const otherFilesText = "; at least {others} other files differ too"

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

// What describes the difference in English.
func (d *Difference) What() string {
	text := texts[d.Reason]
	if d.Values[OtherFiles] != "" {
		text += otherFilesText
	}
	return placeholder.ReplaceAllStringFunc(text, func(b string) string { return d.Values[b[1:len(b)-1]] })
}
