package app

// start runs the services, and accepts connections last.
func (n *Node) start() {
	n.stack.Start("tracer", n.tracer.Run) // stops last, and sends what the others have recorded
	if n.stores != nil {
		n.stack.Start("stores", n.stores.Run)
	}
	if n.fileCache != nil {
		n.stack.Start("file cache", n.runFileCache)
	}
	n.stack.Start("leases", n.leases.Run)
	n.stack.Start("ids", n.ids.Run)
	n.stack.Start("overload protection", n.work.Run)
	n.stack.Start("chat", n.chat.Run)
	n.stack.Start("cold tier", n.cold.Run)
	n.stack.Start("inbox", n.inbox.Run)
	n.stack.Start("interest", n.interest.Run)
	n.stack.Start("interest in posts", n.postInterest.Run)
	n.stack.Start("details", n.details.Run)
	n.stack.Start("schedule", n.schedule.Run)
	n.stack.Start("streamed messages", n.streamed.Run)
	n.stack.Start("official accounts", n.officials.Run)
	n.stack.Start("push notifications", n.pushes.Run)
	n.stack.Start("help desks", n.helpDesks.Run)
	n.stack.Start("server events", n.serverEvents.Run)
	n.stack.Start("message transactions", n.transactions.Run)
	n.stack.Start("bridges", n.bridges.Run)
	n.stack.Start("exports", n.privacy.Run)
	n.stack.Start("presence", n.presence.Run)
	n.stack.Start("directory", n.directory.Run) // stops before presence, which stores who is online then
	n.stack.Start("media", n.media.Run)
	n.stack.Start("prober", n.prober.Run)
	n.stack.Start("message traces", n.traces.Run)
	n.stack.Start("operations", n.operations.Run)
	n.stack.Start("moderation", n.moderation.Run)
	n.stack.Start("backups", n.backups.Run)
	n.stack.Start("reconciliation", n.reconciliation.Run)
	n.stack.Start("rooms", n.rooms.Run)
	n.stack.Start("organizations", n.organizations.Run)
	n.stack.Start("cluster", n.cluster.Run)
	n.stack.Start("fanout", n.fanout.Run)
	n.stack.Start("cluster events", n.runEvents)
	n.stack.Start("activity", n.activity.Run)
	n.stack.Start("accounts", n.accounts.Run)
	n.stack.Start("codes", n.accounts.RunCodes)
	n.stack.Start("outbox", n.runOutbox)
	n.stack.Start("runtime switches", n.switches.Run)
	n.startFeeds()
	n.stack.Start("jobs", n.runJobs)
	n.stack.Start("STOMP", n.stomp.Run) // stops after the gateway, which tells its clients
	n.stack.Start("gateway", n.gateway.Run)
	n.serve()
	n.startCanary()
}
