@_exported import RialtoContract
