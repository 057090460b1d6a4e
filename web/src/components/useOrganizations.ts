import type { Organization } from "@rialto-im/client";
import { useEffect, useState } from "react";
import { useClient, useOnline } from "../client.js";
import { usePlace } from "../routes.js";

/** The organizations that one is a member of. They are read again when the app is shown or online again, and when an
 * organization is opened or left. */
export function useOrganizations(): Organization[] {
  const client = useClient();
  const online = useOnline();
  const place = usePlace();
  const opened = place.area === "people" ? place.organization : undefined;
  const [list, setList] = useState<Organization[]>([]);
  useEffect(() => {
    if (!online) return;
    let stale = false;
    const load = () => void client.organizationApi.listOrganizations({}).then((r) => !stale && setList(r.organizations), () => {});
    load();
    window.addEventListener("focus", load);
    return () => {
      stale = true;
      window.removeEventListener("focus", load);
    };
  }, [client, online, opened]);
  return list;
}
