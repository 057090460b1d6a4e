/** What the app says in English of who has received a message, on which devices. */
export const deliveriesEn = {
  deliveredTo: "Delivered · {n}",
  whereDelivered: "Delivery by device",
  notDelivered: "Not delivered yet",
  devicesHidden: "Their devices are not shown to you.",
  upToDate: "up to date",
  behindSince: "lacks messages since {when}",
  typePhone: "Phone",
  typeTablet: "Tablet",
  typeDesktop: "Desktop",
  typeWeb: "Browser",
  typeTerminal: "Terminal",
  typeOther: "Other device",
};

/** Likewise in Chinese. */
export const deliveriesZh: Record<keyof typeof deliveriesEn, string> = {
  deliveredTo: "已送达 {n} 人",
  whereDelivered: "各设备的送达情况",
  notDelivered: "尚未送达",
  devicesHidden: "对方的设备不对你显示。",
  upToDate: "消息已是最新",
  behindSince: "{when} 以来的消息尚未收到",
  typePhone: "手机",
  typeTablet: "平板",
  typeDesktop: "电脑",
  typeWeb: "浏览器",
  typeTerminal: "终端",
  typeOther: "其他设备",
};
