// Pictures of two examinations stand in two columns, the earlier one left.
import type { Schemas } from "../api/client";

type CasePicture = Schemas["CasePicture"];

export interface Column {
  title: string;
  pictures: CasePicture[];
}

export function columnsOf(pictures: CasePicture[]): Column[] {
  const times = [...new Set(pictures.map((one) => one.timepoint))];
  if (times.filter((one) => one !== null).length < 2) return [{ title: "Pictures", pictures }];
  times.sort((a, b) => (a ?? Infinity) - (b ?? Infinity));
  return times.map((time) => ({
    title: time === null ? "Time not stated" : `Time point ${time}`,
    pictures: pictures.filter((one) => one.timepoint === time),
  }));
}
