package gateway

// Close codes: 4000 to 4099 say come back, 4100 to 4199 stay away.
const (
	closeDrain  = 4000 // the node stops: reconnect elsewhere
	closeSlow   = 4008 // the connection took nothing for too long
	closeSilent = 4009 // no heartbeat
	closeTorn   = 4010 // a message began, and did not come whole in time
	closeFlood  = 4029 // too many frames that carry nothing

	closeProtocol = 4100 // frames that cannot be decoded
	closeAuth     = 4101 // no credentials in time, or bad ones
	closeSession  = 4102 // the session ended: logged out, revoked, replaced by another device
	closeTooLarge = 4103 // a frame over 1 MiB
)
