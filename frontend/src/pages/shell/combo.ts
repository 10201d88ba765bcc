/** What a field and the choices under it share. */
export interface Combo {
  /** Somebody is at the field. */
  open: boolean;
  /** The choices are drawn. */
  listed: boolean;
  /** The id of the choice that the keys have reached. */
  active: string | null;
  /** A key in the field; true: it was for the choices. */
  press: (event: KeyboardEvent) => boolean;
}
