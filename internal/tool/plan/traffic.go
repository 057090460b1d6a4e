package plan

// traffic computes the network traffic at the peak.
func (c *count) traffic() {
	const section = "Network at the peak"
	in, l := c.in, c.load
	frame, packet, receipt := c.by["frame_bytes"], c.by["packet_bytes"], c.by["receipt_bytes"]
	files := l.messages * in.Attachments * in.FileSize
	c.plan.InBits = 8 * (l.messages*(in.Bytes+frame+packet) + files)
	c.line(section, "from clients", c.plan.InBits, "bit/s", words("messages/s × (%v + %v of frame + %v of TLS, TCP and IP), and attachments", in.Bytes, frame, packet))
	c.plan.OutBits = 8 * ((l.deliveries+l.largeDeliveries)*(in.Bytes+frame+packet) + l.messages*(receipt+packet) + files*in.Downloads)
	c.line(section, "to clients", c.plan.OutBits, "bit/s", words("deliveries/s × the same, a receipt of %v for each message, each attachment downloaded %v times", receipt+packet, in.Downloads))
}

// wire returns what n nodes send in bits a second: to clients, and to each other.
func (c *count) wire(n float64) float64 {
	c.plan.BusBits = 8 * c.bus(n) * (c.in.Bytes + c.by["bus_bytes"] + c.by["packet_bytes"])
	return c.plan.OutBits + c.plan.BusBits
}
