package diskblob

// Receive is receive.
var Receive = receive
