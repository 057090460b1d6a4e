package terminal

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/excerpt"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// broadcastsShown is the number of broadcasts that /broadcasts shows, the newest.
const broadcastsShown = 20

// maxWaveDelay is the longest time between two waves of a broadcast.
const maxWaveDelay = 7 * 24 * time.Hour

var errBroadcastWaves = errorf("give the waves of a broadcast as percents of the followers, and the time between them: waves:1,10,100 every:1h")

var errBroadcastsUse = errorf("use /broadcasts, /broadcasts @account, or /broadcasts @account pause, resume, cancel or recall N")

// broadcastActions are the words that change a broadcast.
var broadcastActions = map[string]chatv1.ChangeBroadcastRequest_Action{
	"pause": chatv1.ChangeBroadcastRequest_ACTION_PAUSE, "resume": chatv1.ChangeBroadcastRequest_ACTION_RESUME,
	"cancel": chatv1.ChangeBroadcastRequest_ACTION_CANCEL, "recall": chatv1.ChangeBroadcastRequest_ACTION_RECALL,
}

// broadcastStates are the words for the states of broadcasts.
var broadcastStates = map[chatv1.Broadcast_State]string{
	chatv1.Broadcast_STATE_RUNNING: "is being sent", chatv1.Broadcast_STATE_PAUSED: "paused", chatv1.Broadcast_STATE_DONE: "sent",
	chatv1.Broadcast_STATE_CANCELLED: "cancelled", chatv1.Broadcast_STATE_RECALLED: "taken back",
}

// broadcast sends a text to all followers of an official account that the user operates.
func (s *screen) broadcast(ctx context.Context, rest string) error {
	account, text, err := s.userOf(ctx, rest)
	if err != nil {
		return err
	}
	// A new key for each command: only the user repeats it.
	r := &chatv1.CreateBroadcastRequest{User: account, Key: "broadcast-" + strconv.FormatInt(time.Now().UnixNano(), 36), Audience: &chatv1.BroadcastAudience{}}
	if text, err = setOfBroadcast(r, text); err != nil {
		return err
	}
	if text == "" {
		return errorf("give an account and a text, such as /broadcast @shop We are open again")
	}
	r.Content = textContent(text)
	_, err = call(ctx, s.client.Official().CreateBroadcast, r)
	return s.done(err)
}

// broadcastOption stands before the text of a broadcast.
var broadcastOption = optionPattern("waves|every|label")

// setOfBroadcast sets the options before a text, and returns the text. Waves are percents of the followers, an hour after each other.
func setOfBroadcast(r *chatv1.CreateBroadcastRequest, text string) (string, error) {
	every := time.Hour
	options, text := cutOptions(broadcastOption, text)
	for _, o := range options {
		switch value := o[1]; o[0] {
		case "label":
			r.Audience.Labels = append(r.Audience.Labels, value)
		case "every":
			var err error
			if every, err = time.ParseDuration(value); err != nil || every < time.Second || every > maxWaveDelay {
				return "", errBroadcastWaves
			}
		case "waves":
			r.Waves = nil
			for w := range strings.SplitSeq(value, ",") {
				percent, err := strconv.ParseUint(strings.TrimSpace(w), 10, 8)
				if err != nil {
					return "", errBroadcastWaves
				}
				r.Waves = append(r.Waves, uint32(percent))
			}
		}
	}
	if len(r.Waves) > 1 {
		r.WaveSeconds = uint32(every / time.Second)
	}
	return text, nil
}

// broadcasts lists the official accounts that the user operates, or the broadcasts of one, or changes one by its number in that list.
func (s *screen) broadcasts(ctx context.Context, rest string) error {
	if rest == "" {
		return s.listAccounts(ctx)
	}
	account, rest, err := s.userOf(ctx, rest)
	if err != nil {
		return err
	}
	word, number, _ := strings.Cut(rest, " ")
	action, known := broadcastActions[word]
	if rest != "" && !known {
		return errBroadcastsUse
	}
	if rest != "" {
		of, err := s.broadcastAt(account, strings.TrimSpace(number))
		if err != nil {
			return err
		}
		_, err = call(ctx, s.client.Official().ChangeBroadcast, &chatv1.ChangeBroadcastRequest{Broadcast: of, Action: action})
		return s.done(err)
	}
	r, err := call(ctx, s.client.Official().ListBroadcasts, &chatv1.ListBroadcastsRequest{User: account, Limit: broadcastsShown})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.broadcastIDs, s.broadcastsOf = nil, account
	for _, b := range r.Broadcasts {
		s.broadcastIDs = append(s.broadcastIDs, b.Id)
	}
	s.mu.Unlock()
	if len(r.Broadcasts) == 0 {
		s.say("There are no broadcasts.")
	}
	for i, b := range r.Broadcasts {
		text := excerpt.Marked(oneLine(plain(what(&chatv1.Message{Content: b.Content}))), quoteLen)
		s.say("%3d  %s  %s: sent to %d, failed: %d  %s", i+1, dated(time.UnixMilli(b.CreatedMs), "2 January 15:04"), phrase(broadcastStates[b.State]), b.Sent, b.Failed, text)
	}
	return nil
}

// broadcastAt returns the broadcast with a number of the last list, which must be that of the account.
func (s *screen) broadcastAt(account uint64, number string) (uint64, error) {
	s.mu.Lock()
	isListed := s.broadcastsOf == account
	s.mu.Unlock()
	if !isListed {
		return 0, errorf("list the broadcasts of this account first, to see their numbers: /broadcasts @account")
	}
	return s.inLastList(number, &s.broadcastIDs, errorf("no broadcast has this number; /broadcasts @account lists them"))
}

func (s *screen) listAccounts(ctx context.Context) error {
	r, err := call(ctx, s.client.Official().ListOfficialAccounts, &chatv1.ListOfficialAccountsRequest{})
	if err != nil {
		return err
	}
	var users []uint64
	for _, a := range r.Accounts {
		users = append(users, a.User)
	}
	if err := s.readNames(ctx, users); err != nil {
		return err
	}
	if len(users) == 0 {
		s.say("You operate no official account.")
	}
	for _, a := range r.Accounts {
		s.say("  @%s  %s  %s", s.handle(a.User), s.name(ctx, a.User), counted(a.Followers, "follower"))
	}
	return nil
}
