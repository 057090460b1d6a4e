package terminal

import (
	"context"
	"slices"
	"strings"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var (
	errRelabel     = errorf("give a label and its new name: /official @account relabel from:vip to:\"gold members\"")
	errNoLabel     = errorf("no follower has this label; /official @account lists the labels")
	errMerge       = errorf("there is such a label, and you cannot undo that the two become one: confirm with yes at the end")
	errQuoteLabel  = errorf("there is a label with yes at its end: give the one that you mean in quotes, and yes behind it")
	errDeleteLabel = errorf("this takes the label off everybody who has it, and you cannot undo it: confirm with /official @account remove label LABEL yes")
)

var relabelOption = optionPattern("from|to")

// renameLabel renames a label for all who have it. Two labels become one only if the line says so.
func (s *screen) renameLabel(ctx context.Context, a *chatv1.OfficialAccount, rest string) error {
	var from, to string
	options, rest := cutOptions(relabelOption, rest)
	for _, o := range options {
		if o[0] == "from" {
			from = o[1]
		} else {
			to = o[1]
		}
	}
	switch {
	case from == "" || to == "" || rest != "" && rest != "yes":
		return errRelabel
	case from != to && slices.Contains(a.Labels, to) && rest != "yes":
		return errMerge
	}
	return s.replaceLabel(ctx, a, from, to)
}

// deleteLabel takes a label off all who have it, if the line ends with yes.
func (s *screen) deleteLabel(ctx context.Context, a *chatv1.OfficialAccount, rest string) error {
	label, confirmed := strings.CutSuffix(rest, " yes")
	if !confirmed || strings.TrimSpace(label) == "" {
		return errDeleteLabel
	}
	if slices.Contains(a.Labels, rest) { // such as "gold yes", beside "gold"
		return errQuoteLabel
	}
	return s.replaceLabel(ctx, a, labelIn(label), "")
}

// labelIn returns a label that may be in quotes, as those with spaces are in options.
func labelIn(text string) string { return strings.Trim(strings.TrimSpace(text), `"`) }

// replaceLabel replaces a label by another one, or deletes it if there is none. The server takes a label that nobody has for replaced, which may be a typing error here.
func (s *screen) replaceLabel(ctx context.Context, a *chatv1.OfficialAccount, label, replacement string) error {
	isOperator := a.Role != chatv1.OfficialRole_OFFICIAL_ROLE_UNSPECIFIED
	if isOperator && !slices.Contains(a.Labels, label) {
		return errNoLabel
	}
	_, err := call(ctx, s.client.Official().ReplaceFollowerLabel, &chatv1.ReplaceFollowerLabelRequest{User: a.User, Label: label, Replacement: replacement})
	return s.done(err)
}
