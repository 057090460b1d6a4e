import type { ReactNode } from "react";

function icon(path: ReactNode) {
  return function Icon() {
    return (
      <svg viewBox="0 0 24 24" width="20" height="20" fill="none" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true">
        {path}
      </svg>
    );
  };
}

export const DownloadIcon = icon(<path d="M12 4v11m-4.500-4.500L12 15l4.500-4.500M5 19.500h14" />);
export const ChatIcon = icon(<path d="M20 12a7.5 7.5 0 0 1-11 6.6L4 20l1.4-4.6A7.5 7.5 0 1 1 20 12z" />);
export const SearchIcon = icon(<><circle cx="10.500" cy="10.500" r="6" /><path d="m15 15 5 5" /></>);
export const FeedIcon = icon(<><rect x="4" y="4.500" width="16" height="15" rx="2.500" /><path d="M8 9h8M8 12.500h8M8 16h4.500" /></>);
export const RepostIcon = icon(<path d="M5 11V9a2.500 2.500 0 0 1 2.500-2.500H18M15 3.500l3 3-3 3M19 13v2a2.500 2.500 0 0 1-2.500 2.500H6M9 20.500l-3-3 3-3" />);
export const HeartIcon = icon(<path d="M12 19.500s-7.500-4.400-7.500-9.800A4.200 4.200 0 0 1 12 7.200a4.200 4.200 0 0 1 7.500 2.500c0 5.400-7.500 9.800-7.500 9.800z" />);
export const CommentIcon = icon(<path d="M4.500 6.500A2 2 0 0 1 6.500 4.500h11a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H12l-4.500 3.500v-3.500h-1a2 2 0 0 1-2-2z" />);
export const ShareIcon = icon(<path d="M12 14V4M8 7.500l4-3.500 4 3.500M6 11.500H5v8h14v-8h-1" />);
export const EyeIcon = icon(<><path d="M3 12c2-4 5-6 9-6s7 2 9 6c-2 4-5 6-9 6s-7-2-9-6z" /><circle cx="12" cy="12" r="2.600" /></>);
export const PeopleIcon = icon(<><circle cx="9" cy="8" r="3.2" /><path d="M3 19c.6-3.4 3-5 6-5s5.400 1.600 6 5" /><path d="M15.500 5.200a3 3 0 0 1 0 5.600M17.500 14.400c2 .6 3.200 2.200 3.500 4.600" /></>);
export const AddPersonIcon = icon(<><circle cx="10" cy="8" r="3.2" /><path d="M4 19c.6-3.400 3-5 6-5s5.400 1.600 6 5M19 8v6M16 11h6" /></>);
export const PersonIcon = icon(<><circle cx="12" cy="8" r="3.5" /><path d="M5 20c.7-3.800 3.500-5.500 7-5.500s6.300 1.700 7 5.500" /></>);
export const ThemeIcon = icon(<><circle cx="12" cy="12" r="8.500" /><path d="M12 3.500v17a8.500 8.500 0 0 0 0-17z" fill="currentColor" /></>);
export const LockIcon = icon(<><rect x="5" y="10.500" width="14" height="9.500" rx="2" /><path d="M8 10.500V8a4 4 0 0 1 8 0v2.500" /></>);
export const ShieldIcon = icon(<><path d="M12 3.500 5 6v5.500c0 4.300 2.900 7.500 7 9 4.100-1.500 7-4.700 7-9V6z" /><path d="m9 12 2.200 2.200L15.500 10" /></>);
export const FlagIcon = icon(<path d="M6 21V4.500h12l-2.500 4 2.500 4H6" />);
export const KeyIcon = icon(<><circle cx="8" cy="15" r="4" /><path d="m11 12 8-8M16 7l3 3" /></>);
export const DevicesIcon = icon(<><path d="M4 16V6h14v3M2.500 19H13" /><rect x="15.500" y="11.500" width="6" height="9" rx="1.200" /></>);
export const GearIcon = icon(<><circle cx="12" cy="12" r="3" /><path d="M12 3v3M12 18v3M3 12h3M18 12h3M5.600 5.600l2.100 2.100M16.300 16.300l2.100 2.100M5.600 18.400l2.100-2.100M16.300 7.700l2.100-2.100" /></>);
export const MicIcon = icon(<><rect x="9" y="3.500" width="6" height="10.500" rx="3" /><path d="M5.500 11.500a6.500 6.500 0 0 0 13 0M12 18v3" /></>);
export const PlaceIcon = icon(<><path d="M12 21s6.500-6.500 6.500-11.500a6.500 6.500 0 0 0-13 0C5.500 14.500 12 21 12 21z" /><circle cx="12" cy="9.500" r="2.200" /></>);
export const PlayIcon = icon(<path d="M8 5.500v13l11-6.500z" fill="currentColor" />);
export const PauseIcon = icon(<path d="M8.500 6v12M15.500 6v12" strokeWidth="3" />);
export const SoundIcon = icon(<path d="M4.500 9.500v5h3.500l4.500 4v-13l-4.500 4zM15.500 9a4 4 0 0 1 0 6M18 6.500a7.500 7.500 0 0 1 0 11" />);
export const MutedIcon = icon(<path d="M4.500 9.500v5h3.500l4.500 4v-13l-4.500 4zM16 9.500l5 5M21 9.500l-5 5" />);
export const FullScreenIcon = icon(<path d="M4.500 9v-4.500H9M15 4.500h4.500V9M19.500 15v4.500H15M9 19.500H4.500V15" />);
export const PictureInPictureIcon = icon(<><rect x="3.500" y="5" width="17" height="14" rx="2" /><rect x="11.500" y="11.500" width="6.500" height="5" rx="1" fill="currentColor" /></>);
export const VideoIcon = icon(<><rect x="3.500" y="5.500" width="12" height="13" rx="2" /><path d="m15.500 11 5-3v8l-5-3z" /></>);
export const NextIcon = icon(<path d="m9.500 5 7 7-7 7" />);
export const SendIcon = icon(<path d="M4 12 20 4l-5 16-3.500-6.500zM11.500 13.500 20 4" />);
export const ClipIcon = icon(<path d="m20 11-8.200 8.200a5 5 0 0 1-7-7L13 4a3.300 3.300 0 0 1 4.700 4.700l-8.200 8.200a1.700 1.700 0 0 1-2.400-2.400L14.500 7" />);
export const SmileIcon = icon(<><circle cx="12" cy="12" r="8.500" /><path d="M8.500 14a4.200 4.200 0 0 0 7 0M9 9.500h.01M15 9.500h.01" /></>);
export const ReplyIcon = icon(<path d="M10 6 4.500 11.500 10 17v-3.500c5 0 8 1.500 9.500 5C19.500 12.500 16 9.500 10 9.500z" />);
export const BackIcon = icon(<path d="m14.500 5-7 7 7 7" />);
export const CloseIcon = icon(<path d="m6 6 12 12M18 6 6 18" />);
export const PlusIcon = icon(<path d="M12 5v14M5 12h14" />);
export const InfoIcon = icon(<><circle cx="12" cy="12" r="8.500" /><path d="M12 11v5M12 8h.01" /></>);
export const MoreIcon = icon(<path d="M5.5 12h.01M12 12h.01M18.5 12h.01" strokeWidth="2.6" />);
export const PinIcon = icon(<path d="M9 4h6l-1 6 3 3v2H7v-2l3-3zM12 15v5" />);
export const MegaphoneIcon = icon(<path d="M4 10v4h3l9 4.5v-13L7 10zM8 14.500l1 4.500h2.500l-1-3.200M19 9.500a4 4 0 0 1 0 5" />);
export const BellIcon = icon(<path d="M6 16v-5a6 6 0 0 1 12 0v5l1.500 2h-15zM10 19.500a2 2 0 0 0 4 0" />);
export const BellOffIcon = icon(<path d="M6 16v-5a6 6 0 0 1 9.500-4.900M18 11v5H6M10 19.500a2 2 0 0 0 4 0M4 4l16 16" />);
export const UpIcon = icon(<path d="M12 19V5M6 11l6-6 6 6" />);
export const ArchiveIcon = icon(<path d="M4.500 8.500h15V19a1 1 0 0 1-1 1h-13a1 1 0 0 1-1-1zM3.500 4.500h17v4h-17zM10 12.500h4" />);
export const FolderIcon = icon(<path d="M4 7a2 2 0 0 1 2-2h3.500l2 2.500H18a2 2 0 0 1 2 2V17a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2z" />);
export const DownIcon = icon(<path d="M12 5v14M6 13l6 6 6-6" />);
export const ClockIcon = icon(<><circle cx="12" cy="12" r="8" /><path d="M12 8v4.500l3 1.500" /></>);
export const CopyIcon = icon(<><rect x="9" y="9" width="11" height="11" rx="2" /><path d="M15 5.500V5a2 2 0 0 0-2-2H6a2 2 0 0 0-2 2v8a2 2 0 0 0 2 2h.500" /></>);
export const CheckIcon = icon(<path d="m5 12.500 4.500 4.500L19 7.500" />);
export const ChecksIcon = icon(<path d="m2 12.500 4.500 4.500L16 7.500M12.500 16l1 1L22.500 7.500" />);
export const ImageIcon = icon(<><rect x="3.5" y="5" width="17" height="14" rx="2" /><circle cx="9" cy="10" r="1.5" /><path d="m4 17 5-4 3 2.500 4-4 4.500 4.500" /></>);
export const FileIcon = icon(<path d="M7 3h7l4 4v14H7zM14 3v4h4" />);
export const BookmarkIcon = icon(<path d="M6 3h12v18l-6-4.5L6 21z" />);
