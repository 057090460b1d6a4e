package gateway

// Close codes: 4000 to 4099 say come back, 4100 to 4199 stay away.
const (
	closeDrain      = 4000 // the node stops: reconnect elsewhere
	closeSlow       = 4008 // the client read nothing for too long
	closeSilent     = 4009 // no heartbeat
	closeIncomplete = 4010 // a message stayed incomplete for too long
	closeBusy       = 4011 // there is no memory for more incomplete input
	closeFlood      = 4029 // too many empty frames

	closeProtocol = 4100 // frames that cannot be decoded
	closeAuth     = 4101 // no credentials in time, or bad ones
	closeSession  = 4102 // the session ended: logged out, revoked, replaced by another device
	closeTooLarge = 4103 // a frame over 1 MiB
)
