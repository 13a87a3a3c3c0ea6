// Light or dark: the system's, until somebody says otherwise; remembered on this machine.
import { useEffect, useState } from "preact/hooks";

export type Theme = "system" | "light" | "dark";
const KEY = "overread-theme";

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, set] = useState<Theme>(() => {
    const kept = localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : "system";
  });
  useEffect(() => {
    if (theme === "system") {
      delete document.documentElement.dataset["theme"];
      localStorage.removeItem(KEY);
    } else {
      document.documentElement.dataset["theme"] = theme;
      localStorage.setItem(KEY, theme);
    }
  }, [theme]);
  return [theme, set];
}
