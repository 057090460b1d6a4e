package app

import (
	"context"

	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/platform/userdata"
	"github.com/rialto-im/rialto/internal/service/privacy"
)

// openPrivacy makes the service that exports and erases users' data.
func (n *Node) openPrivacy(ctx context.Context, ids *idgen.Snowflake) (err error) {
	n.privacy, err = privacy.New(ctx, privacy.Deps{DB: n.db, Jobs: n.jobs, Accounts: n.accounts, Files: n.media, Store: n.files, IDs: ids, Participants: n.participants(), Audit: n.audit,
		IsCoordinator: n.isCoordinator, Clock: n.clock, Logger: n.logger}, n.config.Privacy)
	return err
}

// participants are the services with data of users, in the order in which they erase them: organizations before their groups, what others see before what
// only the user does, and the stream of the user's events last, since the others put events into it.
func (n *Node) participants() []userdata.Participant {
	return []userdata.Participant{
		n.organizations.UserData(),
		n.officials.UserData(),
		n.feed.UserData(),
		n.comments.UserData(),
		n.videos.UserData(),
		n.rooms.UserData(),
		n.schedule.UserData(),
		n.streamed.UserData(),
		n.chat.UserData(),
		n.helpDesks.UserData(),
		n.media.UserData(),
		n.engagement.UserData(),
		n.notifications.UserData(),
		n.pushes.UserData(),
		n.ranking.UserData(),
		n.transactions.UserData(),
		n.serverEvents.UserData(),
		n.bridges.UserData(),
		n.moderation.UserData(),
		n.presence.UserData(),
		n.activity.UserData(),
		n.accounts.UserData(),
		n.inbox.UserData(),
	}
}
