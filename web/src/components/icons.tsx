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

export const ChatIcon = icon(<path d="M20 12a7.5 7.5 0 0 1-11 6.6L4 20l1.4-4.6A7.5 7.5 0 1 1 20 12z" />);
export const PeopleIcon = icon(<><circle cx="9" cy="8" r="3.2" /><path d="M3 19c.6-3.4 3-5 6-5s5.400 1.600 6 5" /><path d="M15.500 5.200a3 3 0 0 1 0 5.600M17.500 14.400c2 .6 3.200 2.200 3.500 4.600" /></>);
export const GearIcon = icon(<><circle cx="12" cy="12" r="3" /><path d="M12 3v3M12 18v3M3 12h3M18 12h3M5.600 5.600l2.100 2.100M16.300 16.300l2.100 2.100M5.600 18.400l2.100-2.100M16.300 7.700l2.100-2.100" /></>);
export const SendIcon = icon(<path d="M4 12 20 4l-5 16-3.500-6.500zM11.500 13.500 20 4" />);
export const ClipIcon = icon(<path d="m20 11-8.200 8.200a5 5 0 0 1-7-7L13 4a3.300 3.300 0 0 1 4.700 4.700l-8.200 8.200a1.700 1.700 0 0 1-2.400-2.400L14.500 7" />);
export const SmileIcon = icon(<><circle cx="12" cy="12" r="8.500" /><path d="M8.500 14a4.200 4.200 0 0 0 7 0M9 9.500h.01M15 9.500h.01" /></>);
export const BackIcon = icon(<path d="m14.500 5-7 7 7 7" />);
export const CloseIcon = icon(<path d="m6 6 12 12M18 6 6 18" />);
export const PlusIcon = icon(<path d="M12 5v14M5 12h14" />);
export const InfoIcon = icon(<><circle cx="12" cy="12" r="8.500" /><path d="M12 11v5M12 8h.01" /></>);
export const PinIcon = icon(<path d="M9 4h6l-1 6 3 3v2H7v-2l3-3zM12 15v5" />);
export const BellOffIcon = icon(<path d="M6 16v-5a6 6 0 0 1 9.500-4.900M18 11v5H6M10 19.500a2 2 0 0 0 4 0M4 4l16 16" />);
export const DownIcon = icon(<path d="M12 5v14M6 13l6 6 6-6" />);
export const ImageIcon = icon(<><rect x="3.5" y="5" width="17" height="14" rx="2" /><circle cx="9" cy="10" r="1.5" /><path d="m4 17 5-4 3 2.500 4-4 4.500 4.500" /></>);
export const FileIcon = icon(<path d="M7 3h7l4 4v14H7zM14 3v4h4" />);
