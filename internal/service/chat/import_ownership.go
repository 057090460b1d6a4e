package chat

import (
	"context"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// One node at a time imports to a conversation: calls may reach several, and entries that two append at once would have ids and times that do not ascend. A node that has not
// appended the latest control entry takes the import over by one of action access, which says that the import goes on. Each append compares the access version, so that the
// log refuses what the other node is still appending. Its call fails for the moment, and its repetition takes the import back and stores what is missing.

// takeImport returns the state after which this node imports. The caller holds changeMu, and reads the newest entry afterwards.
func (s *Service) takeImport(ctx context.Context, conv *conversation, st *state) (*state, error) {
	if s.deps.SingleNode || conv.importAccess == st.access {
		return st, nil
	}
	ids, err := s.lastImported(ctx, conv.id)
	if err != nil {
		return nil, err
	}
	control := &chatv1.Control{Action: chatv1.Control_ACTION_ACCESS, Importing: true}
	seq, err := s.appendControlAs(ctx, conv, st, control, &importedControl{id: ids.next(uint8(st.kind), st.id, ids.ms)})
	if err != nil {
		conv.invalidate()
		return nil, changedMeanwhile(err)
	}
	if st, err = s.loadState(ctx, conv); err != nil {
		return nil, err
	}
	if st.access != seq { // another node has changed the conversation since
		return nil, busy(nil)
	}
	conv.importAccess = seq
	return st, nil
}
