package app

import (
	"context"
	neturl "net/url"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/linkpreview"
)

// openLinkPreviews makes the service of link previews.
func (n *Node) openLinkPreviews(ctx context.Context) error {
	secret, err := n.accounts.Secret(ctx, "link previews")
	if err != nil {
		return err
	}
	n.previews, err = linkpreview.New(linkpreview.Deps{
		StorePicture: func(ctx context.Context, u id.User, p linkpreview.Picture) (id.Upload, error) {
			return n.media.StorePreviewPicture(ctx, u, p.JPEG, p.Width, p.Height)
		},
		IsOff: func(ctx context.Context, u id.User) (bool, error) {
			settings, err := n.accounts.GetSettings(ctx, id.Caller{User: u})
			return settings.GetNoLinkPreviews(), err
		},
		OwnHosts: hostsOf(n.config.Public.URL, n.config.Media.Origin), Secret: secret, Calls: n.outgoing, Clock: n.clock, Logger: n.logger}, n.config.LinkPreviews)
	return err
}

// hostsOf returns the hosts of addresses at which clients reach this deployment. An address may be "".
func hostsOf(addresses ...string) (hosts []string) {
	for _, address := range addresses {
		if u, err := neturl.Parse(address); err == nil && u.Hostname() != "" { // the settings were checked
			hosts = append(hosts, u.Hostname())
		}
	}
	return hosts
}
